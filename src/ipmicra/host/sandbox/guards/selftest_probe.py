"""A program that tests the sandbox it is started in -> its findings, for `ipmicra host check`.

Invariant: it tries only what is harmless even without a guard: no packet leaves the machine.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import resource
import socket
import struct
from collections.abc import Callable
from pathlib import Path

_CAPABILITIES_VERSION = 0x2008_0522
_NOWHERE = ("192.0.2.1", 9)  # of a documentation range; connecting a datagram socket sends nothing


def probe_results() -> dict[str, object]:
    return {
        "user": os.getresuid()[0],
        "capabilities": _capabilities(),
        "memory_bytes": resource.getrlimit(resource.RLIMIT_DATA)[1],
        "threads": resource.getrlimit(resource.RLIMIT_NPROC)[1],
        "socket": _error_of(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()),
        "network": _error_of(_look_for_a_route),
        "bind": _error_of(_bind),
        "link": _error_of(lambda: Path("a-link").symlink_to("/etc/passwd")),
    }


def _error_of(attempt: Callable[[], None]) -> str:
    """The error's name; empty on success."""
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return ""


def _look_for_a_route() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(_NOWHERE)


def _bind() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.bind(("127.0.0.1", 0))


def _capabilities() -> int:
    """Permitted and effective capabilities, as bits."""
    head = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES_VERSION, 0))
    data = ctypes.create_string_buffer(24)
    if ctypes.CDLL(None, use_errno=True).capget(head, data) < 0:
        return -1
    effective_low, permitted_low, _, effective_high, permitted_high, _ = struct.unpack("=6I", data.raw)
    return int(effective_low | permitted_low | (effective_high | permitted_high) << 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--control", type=int, required=True)
    given, _ = parser.parse_known_args()
    with socket.socket(fileno=given.control) as control:
        control.sendall(json.dumps(probe_results()).encode())


if __name__ == "__main__":
    main()

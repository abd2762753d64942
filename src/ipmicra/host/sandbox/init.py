"""The first program in a sandbox -> applies the last restrictions to itself and becomes the
dispatched code.

Installed by the host's owner and started by the host, with its configuration as one JSON argument. It
uses only Python's standard library, since it runs before anything else can be imported. Invariant: no
line of the dispatched code runs before privileges, limits, Landlock and the filter are in place. If one
that was requested is not available, nothing runs.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import runpy
import socket
import struct
import sys
from typing import TypedDict

_SET_NO_NEW_PRIVS = 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on all processors
_LANDLOCK_VERSION, _LANDLOCK_PATH_BENEATH = 1, 1
_READING = 0b1101  # execute (of libraries), read files, read folders
_WRITING = (
    _READING | 0b1_1011_0010 | 1 << 13 | 1 << 14
)  # regular files and folders only: no links, pipes
_WRITE_FILE = 1 << 1
_TCP = 0b11  # bind and connect
_SCOPES = 0b11  # abstract sockets and signals of other processes
_SECCOMP_SET_FILTER, _SECCOMP_NEW_LISTENER = 1, 1 << 3


class InitConfig(TypedDict):
    """The steps of the host before the code runs."""

    user: int | None  # become this user; None if we are unprivileged already
    limits: dict[str, int]
    landlock: bool
    filter: str  # hexadecimal; empty: none
    filter_call: int  # the number of seccomp(2) here
    reporting: bool  # send the listener of forbidden calls to the host
    guard: int  # file number of the socket that reports when everything is in place
    code: str
    state: str
    packages: list[str]
    program: str
    arguments: list[str]


def main(config: InitConfig) -> None:
    os.umask(0o077)
    for name, amount in config["limits"].items():
        resource.setrlimit(getattr(resource, name), (amount, amount))
    if config["user"] is not None:
        _become(config["user"])
    library = ctypes.CDLL(None, use_errno=True)
    _call(library.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    if config["landlock"]:
        _restrict_files_and_tcp(library, config["state"])
    with socket.socket(fileno=config["guard"]) as guard:
        listener = _load_filter(library, config)
        fds = [] if listener is None else [listener]
        socket.send_fds(guard, [b"ready"], fds)
        for fd in fds:
            os.close(fd)
    del library
    _run(config)


def _become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if os.getresuid() != (user, user, user) or os.getgroups():
        raise OSError("privileges were not given up")


def _restrict_files_and_tcp(library: ctypes.CDLL, state: str) -> None:
    """Read what is mounted, write regular files in the state folder, and open no TCP connections."""
    version = library.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)
    _call(version, "Landlock")
    writing = _WRITING & (1 << (15 if version >= 3 else 14 if version >= 2 else 13)) - 1
    handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    ruleset = struct.pack("=QQQ", handled, _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = library.syscall(_LANDLOCK_CREATE, ruleset, size, 0)
    _call(rules, "Landlock's rules")
    for path, allowed in (("/", _READING), ("/dev/null", _WRITE_FILE), (state, writing)):
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", allowed, beneath)
        _call(library.syscall(_LANDLOCK_ADD, rules, _LANDLOCK_PATH_BENEATH, rule, 0), f"rule {path}")
        os.close(beneath)
    _call(library.syscall(_LANDLOCK_RESTRICT, rules, 0), "Landlock's restriction")
    os.close(rules)


def _load_filter(library: ctypes.CDLL, config: InitConfig) -> int | None:
    """From here on forbidden calls fail. Returns the descriptor that reports them, if any."""
    code = bytes.fromhex(config["filter"])
    if not code:
        return None
    steps = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(steps))
    flags = _SECCOMP_NEW_LISTENER if config["reporting"] else 0
    loaded = library.syscall(config["filter_call"], _SECCOMP_SET_FILTER, flags, program)
    _call(loaded, "the filter of system calls")
    return int(loaded) if config["reporting"] else None


def _call(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _run(config: InitConfig) -> None:
    os.chdir(config["state"])
    sys.path[:] = [config["code"], *(path for path in sys.path if path), *config["packages"]]
    sys.argv[:] = [config["program"], *config["arguments"]]
    runpy.run_module(config["program"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

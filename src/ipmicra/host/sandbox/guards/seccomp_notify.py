"""System calls that were forbidden -> "not permitted" for the code that tried, and a line in the log.

The kernel blocks the call until it is answered. Invariant: the answer is always no, and the attempt is
logged first. Code that does not stop trying is killed.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import struct
from collections.abc import Callable
from contextlib import suppress

from ipmicra.host.sandbox.monitor.throttled_log import ThrottledLog

TRIES_MAX = 1_000
_RECEIVE, _ANSWER = 0xC050_2100, 0xC018_2101  # SECCOMP_IOCTL_NOTIF_RECV and _SEND of linux/seccomp.h
_NOTIFICATION_BYTES = 80
_HEAD = struct.Struct("=QIIiIQQ")  # id, process, flags, call, processor, where, first argument
_REPLY = struct.Struct("=QqiI")  # id, value, error, flags
# Refused as well, but not logged: libuv tries io_uring at every start, and works without it.
HARMLESS_CALLS = frozenset({("io_uring_setup", 256)})
DESCRIPTIONS = {
    "clone": "to start a process",
    "fork": "to start a process",
    "vfork": "to start a process",
    "execve": "to run a program",
    "mmap": "to use memory that is not counted",
    "sendto": "to connect a socket while sending",
    "sendmsg": "to connect a socket while sending",
    "prctl": "to outlive the host",
    "setsockopt": "to change where a connection's packets go",
}


class SeccompNotifications:
    """Answers forbidden calls. `on_too_many` is called once the limit of tries is reached."""

    def __init__(
        self,
        listener: int,
        names: dict[int, str],
        log: ThrottledLog,
        on_too_many: Callable[[], None],
    ) -> None:
        self._listener, self._names, self._log = listener, names, log
        self._on_too_many, self._tries = on_too_many, 0
        asyncio.get_running_loop().add_reader(listener, self._read)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)

    def _read(self) -> None:
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notification)
        except OSError:  # the process that asked is gone
            self.close()
            return
        number, _, _, call, _, _, argument = _HEAD.unpack_from(notification)
        name = self._names.get(call, f"call {call}")
        if (name, argument) not in HARMLESS_CALLS:
            wanted = f"{DESCRIPTIONS[name]} ({name})" if name in DESCRIPTIONS else name
            self._log.add(f"the crawler's code tried {wanted}: not permitted")
        with suppress(OSError):
            fcntl.ioctl(self._listener, _ANSWER, _REPLY.pack(number, 0, -errno.EPERM, 0))
        self._tries += 1
        if self._tries == TRIES_MAX:
            self._on_too_many()

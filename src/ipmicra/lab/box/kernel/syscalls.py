"""The few calls that Python 3.11 does not have: unshare, setns, prctl; and a TUN device.

Invariant: a thread that cannot come back from a foreign namespace ends the process; it never goes on there.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x4000_0000
_PR_SET_PDEATHSIG = 1
_TUNSETIFF = 0x4004_54CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_HERE = "/proc/thread-self/ns/net"
TUN = "/dev/net/tun"
LOST_IN_A_NAMESPACE = 97  # the exit code


def new_network() -> int:
    """A file descriptor that holds a new, empty network namespace; the caller stays where it is."""
    home = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", _CLONE_NEWNET)
        made = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
        _return_to(home)
    finally:
        os.close(home)
    return made


@contextmanager
def inside(network: int) -> Iterator[None]:
    """This thread inside a namespace: sockets and processes made here stay there."""
    home = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", network, _CLONE_NEWNET)
        try:
            yield
        finally:
            _return_to(home)
    finally:
        os.close(home)


def new_tun(name: str) -> int:
    """A TUN device in this thread's namespace; it is gone when its descriptor is closed everywhere."""
    device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    except OSError:
        os.close(device)
        raise
    return device


def die_with(parent: int) -> None:
    """Let the kernel kill this process when the thread that started it ends. Call it in a new child."""
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _return_to(home: int) -> None:
    if _libc.setns(home, _CLONE_NEWNET):
        os._exit(LOST_IN_A_NAMESPACE)


def _call(name: str, *arguments: int) -> None:
    if getattr(_libc, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")

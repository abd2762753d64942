"""Promises that a process makes about itself to the kernel, for good (prctl(2)).

Invariant: where the kernel does not know one, the process goes on without it.
"""

from __future__ import annotations

import ctypes
import os
import signal

_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _SET_NO_NEW_PRIVS = 1, 4, 38


def die_with_parent(parent: int) -> None:
    """Be killed when the process that started this one ends; at once, if it has ended already."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def renounce_privileges() -> None:
    """Gain no privilege by starting a program, and be read by no other process of this user."""
    _prctl(_SET_NO_NEW_PRIVS, 1)
    _prctl(_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)

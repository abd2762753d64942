"""Code, settings and limits -> one value that a sandbox is made from.

To run dispatched code, fill in a `SandboxSpec` and start it (`launch.start`). The code finds inside: its
own folder read-only at `/code`, its state folder writable at `/state` (the working folder), its settings
read-only at `/settings.json`, and as arguments of its program

    --settings /settings.json --state /state --control N --broker N

two open sockets: the control channel (`ipmicra.host.hosted.guest.program`) and the broker
(`ipmicra.host.broker.client`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ipmicra.host.settings import HostSettings

SANDBOX_USER = 64_717  # of the user nobody; used when the host runs as root
NOBODY = 65_534
FILES_BESIDE_CONNECTIONS = 64
THREADS_MAX = 64
MAPPED_BYTES_BESIDE = 1 << 30  # libraries and mapped files, which are not the crawler's memory

CODE, STATE, SETTINGS, ENTRY = "/code", "/state", "/settings.json", "/entry.py"


@dataclass(frozen=True)
class SandboxLimits:
    """How much of the machine the code may use."""

    memory_bytes_max: int
    disk_bytes_max: int
    files_max: int
    threads_max: int = THREADS_MAX

    @classmethod
    def of(cls, host: HostSettings) -> SandboxLimits:
        return cls(
            memory_bytes_max=host.memory_bytes_max,
            disk_bytes_max=host.disk_bytes_max,
            files_max=host.connections_max + FILES_BESIDE_CONNECTIONS,
        )

    def for_the_kernel(self) -> dict[str, int]:
        """By the names of Python's `resource`."""
        return {
            "RLIMIT_DATA": self.memory_bytes_max,
            "RLIMIT_AS": self.memory_bytes_max + MAPPED_BYTES_BESIDE,
            "RLIMIT_FSIZE": self.disk_bytes_max,
            "RLIMIT_NOFILE": self.files_max,
            "RLIMIT_NPROC": self.threads_max,
            "RLIMIT_CORE": 0,
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_MSGQUEUE": 0,
        }


@dataclass(frozen=True)
class EnabledGuards:
    """Which guards are used: all of them, except when a self-test checks one alone."""

    landlock: bool = True
    filter: bool = True
    reporting: bool = True  # forbidden calls are reported; needs the filter


@dataclass(frozen=True)
class SandboxSpec:
    """A sandbox to be created."""

    code: Path  # the folder that holds the program's package
    program: str  # the module that is run, such as "ipmicra.host.hosted.guest.program"
    state: Path
    settings: Path
    limits: SandboxLimits
    guards: EnabledGuards = EnabledGuards()
    readable: tuple[Path, ...] = ()  # further files to mount, at their own paths
    is_confined: bool = True  # False: a process of its own, without a sandbox


def user_to_become() -> int | None:
    """The user that a root process becomes; for others the kernel maps to nobody."""
    return SANDBOX_USER if os.geteuid() == 0 else None

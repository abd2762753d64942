"""Which code a sandbox runs: a folder with a package in it, and the module that is its program."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import ipmicra
from ipmicra import __version__
from ipmicra.host.sandbox.spec import EnabledGuards

PROGRAM = "ipmicra.host.hosted.guest.program"


class Code(NamedTuple):
    """Code that can be started. Its folder must be readable by all users, and not writable by the code."""

    folder: Path
    program: str = PROGRAM
    version: str = __version__
    guards: EnabledGuards = EnabledGuards()  # that work on this machine
    is_confined: bool = True  # False: in a process without a sandbox; for the owner's own code only


def own_code() -> Code:
    """The code that the host's owner has installed."""
    return Code(Path(ipmicra.__file__).resolve().parent.parent)

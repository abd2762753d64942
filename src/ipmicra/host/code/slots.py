"""Two slots of code and the results of their trials -> which one runs next, also after a crash.

| event            | good slot      | trial slot | what follows                                   |
|------------------|----------------|------------|------------------------------------------------|
| stage(version)   | stays          | the other  | the next start is a trial                      |
| start_next       | stays          | stays      | a trial is counted before it starts            |
| mark_healthy     | the trial's    | none       | the new code is the good one                   |
| mark_failed      | stays          | none after the last try | refused: that version is not tried again |

Invariant: the state is one small file, replaced as a whole and synced, so a power cut at any point leaves a
slot that worked before. A trial is counted before it starts, so a trial that crashes the machine is counted
too.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ipmicra.carrier.durable import make_folder, sync_folder, write_durably
from ipmicra.errors import HostFault
from ipmicra.protocol.bundle_format import ORDINARY_CAPS, BadBundle, BundleCaps, unpack
from ipmicra.protocol.versions import is_newer

TRIES_MAX = 2
REFUSED_MAX = 50  # versions remembered
STATE_FILE = "slots.json"

Slot: TypeAlias = Literal["A", "B"]


class HeldCode(msgspec.Struct, frozen=True, kw_only=True):
    """The code in a slot."""

    version: str
    program: str


class SlotRefusal(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    reason: str


class SlotState(msgspec.Struct, frozen=True, kw_only=True):
    good: Slot | None = None
    trial: Slot | None = None
    tries: int = 0
    held: dict[Slot, HeldCode] = {}
    refused: tuple[SlotRefusal, ...] = ()


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The code to start now."""

    version: str
    program: str
    folder: Path
    is_trial: bool


class Slots:
    """The slots in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        make_folder(folder, mode=0o755)
        self.state = self._load()

    def stage(self, version: str, bundle: bytes, caps: BundleCaps = ORDINARY_CAPS) -> None:
        """Put a verified bundle into the free slot; it is tried at the next start. Raises BadBundle."""
        self._check(version)
        slot: Slot = "B" if self.state.good == "A" else "A"
        self._save(trial=None, tries=0)
        shutil.rmtree(self._folder / slot, ignore_errors=True)
        manifest = unpack(bundle, self._folder / slot, caps)
        if manifest.version != version:
            raise BadBundle(f"the bundle says it is {manifest.version}, not {version}")
        _sync_all(self._folder / slot)
        sync_folder(self._folder)
        held = {**self.state.held, slot: HeldCode(version=version, program=manifest.program)}
        self._save(trial=slot, tries=0, held=held)

    def start_next(self) -> Running | None:
        """The code to start now; None if nothing was ever dispatched."""
        if self.state.trial is not None and self.state.tries >= TRIES_MAX:
            self._refuse("it did not prove healthy in the tries it had")
        if self.state.trial is not None:
            self._save(tries=self.state.tries + 1)
            return self._running(self.state.trial)
        return self.good_code()

    def good_code(self) -> Running | None:
        """The code that has proved itself, not a trial."""
        return None if self.state.good is None else self._running(self.state.good)

    def mark_healthy(self) -> None:
        """The trial succeeded: its code becomes the good one."""
        if self.state.trial is not None:
            self._save(good=self.state.trial, trial=None, tries=0)

    def mark_failed(self, reason: str) -> None:
        """The trial crashed, hung or did nothing. After the last try its version is refused for good."""
        if self.state.trial is not None and self.state.tries >= TRIES_MAX:
            self._refuse(reason)

    @property
    def version(self) -> str:
        """Of the good code; empty where nothing was dispatched."""
        return "" if self.state.good is None else self.state.held[self.state.good].version

    def _check(self, version: str) -> None:
        for refusal in self.state.refused:
            if refusal.version == version:
                raise BadBundle(f"version {version} was tried and failed: {refusal.reason}")
        if self.version and not is_newer(version, self.version):
            raise BadBundle(f"version {version} is not newer than {self.version}, which works here")

    def _refuse(self, reason: str) -> None:
        assert self.state.trial is not None
        refusal = SlotRefusal(version=self.state.held[self.state.trial].version, reason=reason)
        self._save(trial=None, tries=0, refused=(*self.state.refused, refusal)[-REFUSED_MAX:])

    def _running(self, slot: Slot) -> Running:
        held = self.state.held[slot]
        return Running(
            version=held.version,
            program=held.program,
            folder=self._folder / slot,
            is_trial=slot == self.state.trial,
        )

    def _save(self, **changes: object) -> None:
        self.state = msgspec.structs.replace(self.state, **changes)
        write_durably(self._folder / STATE_FILE, msgspec.json.encode(self.state))

    def _load(self) -> SlotState:
        path = self._folder / STATE_FILE
        try:
            return msgspec.json.decode(path.read_bytes(), type=SlotState)
        except FileNotFoundError:
            return SlotState()
        except msgspec.MsgspecError as error:
            raise HostFault(
                f"{path} cannot be read: {error}; remove {self._folder} to start again"
            ) from error


def _sync_all(folder: Path) -> None:
    """Every file and folder of a slot is on the disk before the state names it."""
    for path in folder.rglob("*"):
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

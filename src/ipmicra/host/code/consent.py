"""The owner's consent -> whether a coordinator's code runs on this host, and under which root of trust.

Invariant: no consent, no code. Without a root that the owner accepted by its fingerprint, and a sandbox
that works, only the code that they installed themselves runs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ipmicra.carrier.durable import make_folder, write_durably
from ipmicra.errors import OperatorFault
from ipmicra.host import folder as folders
from ipmicra.host.code.updater import FOLDER, ROOT_FILE, CodeUpdater
from ipmicra.host.sandbox.mode import RunMode
from ipmicra.host.store import HostStore
from ipmicra.protocol.bundle_trust import Bundles, fingerprint


def accept(folder: Path, root: bytes, expected: str) -> None:
    """Store a root of trust, if it has the fingerprint that the owner expects."""
    found = fingerprint(root)
    if "".join(expected.split()).lower() != found.replace(" ", ""):
        raise OperatorFault(
            f"the coordinator's root has the fingerprint {found}, not {expected!r}: ask its "
            "operator over another channel which one is right"
        )
    make_folder(folder / FOLDER, mode=0o755)
    write_durably(folder / FOLDER / ROOT_FILE, root)


def withdraw(folder: Path) -> bool:
    """Run only installed code from the next start on, and remove dispatched code. False if there was
    no consent.
    """
    had = (folder / FOLDER).exists()
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    return had


def accepted_root(folder: Path) -> bytes | None:
    path = folder / FOLDER / ROOT_FILE
    return path.read_bytes() if path.is_file() else None


def code_updater_for(folder: Path, store: HostStore, choice: RunMode) -> CodeUpdater | None:
    """The updater for code that the coordinator may dispatch; None if it may not."""
    root = accepted_root(folder)
    if root is None or choice.installed is None or not choice.takes_bundles:
        return None
    place = folder / FOLDER
    bundles = Bundles(folders.membership(store).coordinator, place, root)
    return CodeUpdater(place, bundles, choice.installed, store.log_event)

"""`/ready` tries what hosts need, and says what does not work."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.api.readiness import Readiness
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import blobs
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.delegation.subnets import NoSubnets
from ipmicra.errors import HostFault


def context_in(folder: Path, database: Database) -> CoordinatorContext:
    return CoordinatorContext(
        database=database,
        store=FilePackageStore(folder / "packages"),
        tree=NoSubnets(),
        settings=CoordinatorSettings(),
        name="test",
        spool_folder=folder,
    )


def test_a_coordinator_that_can_work_is_ready(tmp_path: Path, database: Database) -> None:
    found = Readiness(context_in(tmp_path, database))
    assert (found.problems(), found.remark()) == ([], "")


def full(*_: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def unreachable(*_: object) -> Any:
    raise HostFault("no route to the store")


@pytest.mark.parametrize("what", ["full disk", "folder gone", "store unreachable", "database full"])
def test_ready_tells_the_truth(
    tmp_path: Path, database: Database, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = context_in(tmp_path, database)
    match what:
        case "full disk":
            monkeypatch.setattr(os, "fsync", full)
        case "folder gone":
            context.spool_folder = tmp_path / "gone"
        case "store unreachable":
            monkeypatch.setattr(context.store, "fetch", unreachable)
        case _:
            monkeypatch.setattr(blobs, "save", full)
    (problem,) = Readiness(context).problems()
    expected = {
        "full disk": "data folder cannot be written: No space left",
        "folder gone": "data folder cannot be written",
        "store unreachable": "package store does not answer: no route",
        "database full": "database cannot be written",
    }
    assert expected[what] in problem

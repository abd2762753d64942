"""Epochs of different kinds are different types: the type checker refuses one in place of another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ("LeaseEpoch", "SiteEpoch", "LeaderTerm", "FrontierEpoch", "DelegateEpoch")
EXAMPLE = """
from ipmicra.model.ids import {names}
from ipmicra.host.store import HostStore

def deliver(store: HostStore, {arguments}) -> None:
    store.begin_epoch({kind}, 1)
"""


@pytest.mark.slow
def test_the_checker_refuses_an_epoch_of_another_kind(tmp_path: Path) -> None:
    files = []
    for kind in KINDS:
        example = tmp_path / f"use_{kind}.py"
        arguments = ", ".join(f"{each.lower()}: {each}" for each in KINDS)
        example.write_text(
            EXAMPLE.format(names=", ".join(KINDS), arguments=arguments, kind=kind.lower())
        )
        files.append(str(example))
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", *files]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    refused = {line.partition(":")[0] for line in result.stdout.splitlines() if ": error:" in line}
    assert {Path(path).stem for path in refused} == {f"use_{kind}" for kind in KINDS[1:]}

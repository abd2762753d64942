"""`ipmicra host status` and `host check` as an owner reads them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ipmicra.cli.main import run
from ipmicra.host.sandbox.guards import selftest
from ipmicra.host.sandbox.guards.selftest import SandboxGuard
from tests.host.host_harness import command, join
from tests.host.scripted_coordinator import ScriptedCoordinator


def test_a_host_that_has_joined_says_what_it_does_and_its_rules(tmp_path: Path) -> None:
    async def story() -> str:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            return home.address

    address = asyncio.run(story())
    shown = command(tmp_path, "host", "status")
    assert shown.exit_code == 0, shown.output
    assert address in shown.output
    assert "not tried yet" in shown.output
    assert "hours" in shown.output


@pytest.mark.parametrize(
    ("waived", "code", "words"), [("[]", 1, "missing: filter; code that"), ('["filter"]', 0, "held")]
)
def test_a_missing_guard_is_an_exit_code_of_one_unless_it_is_waived(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    waived: str,
    code: int,
    words: str,
) -> None:
    async def guards() -> list[SandboxGuard]:
        return [
            SandboxGuard("filter", False, True, "system calls", "seccomp is off"),
            SandboxGuard("cpu", False, False, "processor time"),
            SandboxGuard("namespaces", True, True, "its own view"),
        ]

    monkeypatch.setattr(selftest, "run_selftest", guards)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["--set", f"host.guards_done_without={waived}", "host", "check"]) == code
    told = capsys.readouterr()
    assert words in told.out + told.err
    assert "seccomp is off" in told.out
    assert "missing, not needed" in told.out

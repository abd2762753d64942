"""Broken installations, each with its finding and its advice, through the real command.

Name servers, ports and coordinators are on 127.0.0.1; the sandbox's own test is in tests/host/sandbox.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

import msgspec
import pytest

from ipmicra.cli.commands.doctor import DoctorReport
from ipmicra.cli.doctor import clock, data_folder, network, software, storage
from ipmicra.cli.doctor.checkup import all_checks
from ipmicra.cli.doctor.finding import Check, Finding, Severity, ok
from ipmicra.cli.doctor.installation import Installation
from ipmicra.cli.doctor.runner import run_checks
from ipmicra.cli.main import run
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.host.sandbox.guards.selftest import SandboxGuard
from ipmicra.lab.loopback.names import answer_to
from ipmicra.settings import load_settings

Captured = pytest.CaptureFixture[str]
Doctor = Callable[..., tuple[int, dict[str, Finding]]]
SILENT = "127.0.0.1:9"  # the discard port: no one answers there


@pytest.fixture
def name_server() -> Iterator[str]:
    """Answers every question about a name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.1)
        stopped = threading.Event()

        def serve() -> None:
            while not stopped.is_set():
                try:
                    question, sender = server.recvfrom(2_000)
                except TimeoutError:
                    continue
                answer = answer_to(question, lambda _: [IPv4Address("127.5.0.1")])
                if answer is not None:
                    server.sendto(answer, sender)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        stopped.set()
        thread.join()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def doctor(capsys: Captured, name_server: str, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    async def guards() -> list[SandboxGuard]:
        return [SandboxGuard("namespaces", True, True, "its own view")]

    monkeypatch.setattr(software, "run_selftest", guards)

    def ask(
        folder: Path, *settings: str, listen: str = "", names: str = name_server
    ) -> tuple[int, dict[str, Finding]]:
        chosen = [f"general.data_folder={folder}", f'fetching.dns_servers=["{names}"]', *settings]
        words = [word for each in chosen for word in ("--set", each)]
        where = listen or f"127.0.0.1:{free_port()}"
        capsys.readouterr()
        code = run([*words, "doctor", "--json", "--listen", where])
        report = msgspec.json.decode(capsys.readouterr().out, type=DoctorReport)
        assert report.is_well == (code == 0)
        return code, {each.subject: each for each in report.findings}

    return ask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A healthy coordinator's folder."""
    made = tmp_path / "data"
    made.mkdir(mode=0o700)
    before = os.umask(0o077)
    Database(f"sqlite:///{made / 'coordinator.sqlite'}").close()
    (made / "packages").mkdir()
    os.umask(before)
    return made


def expect(finding: Finding, severity: Severity, found: str, advice: str) -> None:
    assert finding.severity == severity, finding
    assert found in finding.found
    assert advice in finding.advice


def test_a_healthy_installation_ends_with_0_and_is_not_changed(doctor: Doctor, folder: Path) -> None:
    before = sorted(path.name for path in folder.rglob("*") if "-" not in path.name)
    code, findings = doctor(folder)
    assert code == 0, findings
    assert {"database", "package store", "name servers", "port", "disk space"} <= set(findings)
    assert findings["file modes"].severity == Severity.OK
    assert sorted(path.name for path in folder.rglob("*") if "-" not in path.name) == before


def no_folder(folder: Path) -> Path:
    return folder / "nothing"


def a_file(folder: Path) -> Path:
    (folder / "file").write_text("not a folder")
    return folder / "file"


def readable_database(folder: Path) -> Path:
    (folder / "coordinator.sqlite").chmod(0o644)
    return folder


def damaged_database(folder: Path) -> Path:
    (folder / "coordinator.sqlite").write_bytes(b"no database at all " * 1000)
    return folder


def damaged_index(folder: Path) -> Path:
    (folder / "index").mkdir()
    (folder / "index" / "ledger.sqlite").write_bytes(b"no database at all " * 1000)
    return folder


BROKEN = [
    (no_folder, "data folder", "does not exist", "correct general.data_folder"),
    (a_file, "data folder", "is a file", "move the file away"),
    (readable_database, "file modes", "other users may read", "chmod 600"),
    (damaged_database, "database", "not a database", "coordinator restore"),
    (damaged_index, "search index", "", "coordinator reindex"),
]


@pytest.mark.parametrize(("broken", "subject", "found", "advice"), BROKEN)
def test_what_is_broken_is_found(
    broken: Callable[[Path], Path], subject: str, found: str, advice: str, doctor: Doctor, folder: Path
) -> None:
    code, findings = doctor(broken(folder))
    assert code == 1
    expect(findings[subject], Severity.PROBLEM, found, advice)


def test_an_open_folder_is_a_warning(doctor: Doctor, folder: Path) -> None:
    folder.chmod(0o755)
    code, findings = doctor(folder)
    assert code == 0
    expect(findings["file modes"], Severity.WARNING, "mode 0755", "chmod 700")


def test_a_port_held_by_a_stranger_is_found(doctor: Doctor, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        code, findings = doctor(folder, listen=f"127.0.0.1:{stranger.getsockname()[1]}")
    assert code == 1
    expect(findings["port"], Severity.PROBLEM, "another program uses this port", "--listen")


def test_a_dead_name_server_is_found_in_time(doctor: Doctor, folder: Path) -> None:
    began_s = time.monotonic()
    code, findings = doctor(folder, names=SILENT)
    assert code == 1
    expect(findings["name servers"], Severity.PROBLEM, "do not answer", "fetching.dns_servers")
    assert time.monotonic() - began_s < network.RESOLVE_SECONDS_MAX + 10


def test_an_unknown_setting_is_found_and_the_rest_left_out(doctor: Doctor, folder: Path) -> None:
    code, findings = doctor(folder, "general.data_foldr=1")
    assert code == 1
    expect(findings["settings"], Severity.PROBLEM, "did you mean data_folder", "correct")
    assert "data folder" not in findings
    assert findings["versions"].severity == Severity.OK


def test_a_full_disk_is_found(doctor: Doctor, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_folder, "free_space", lambda _: data_folder.FreeSpace(1 << 20, None))
    code, findings = doctor(folder)
    assert code == 1
    expect(findings["disk space"], Severity.PROBLEM, "0.0 GB free", "free some space")


def test_a_silent_coordinator_is_a_warning(doctor: Doctor, folder: Path) -> None:
    code, findings = doctor(folder, "coordinator.address=http://127.0.0.1:9")
    assert code == 0
    expect(findings["coordinator's clock"], Severity.WARNING, "no coordinator answers", "running")


def test_a_check_that_raises_or_hangs_keeps_no_other_from_running() -> None:
    def fail() -> None:
        raise ZeroDivisionError("no number")

    checks = [
        Check("raises", fail),
        Check("hangs", lambda: time.sleep(2), deadline_s=0.05),
        Check("left out", lambda: None),
        Check("well", lambda: ok("fine")),
    ]
    findings = {each.subject: each for each in run_checks(checks)}
    expect(findings["raises"], Severity.PROBLEM, "ZeroDivisionError: no number", "not affected")
    expect(findings["hangs"], Severity.PROBLEM, "no result within 0.05 s", "waits for")
    assert list(findings) == ["raises", "hangs", "well"]


def test_a_clock_of_the_past_is_found(
    doctor: Doctor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: datetime(1970, 1, 1, tzinfo=UTC))
    code, findings = doctor(folder)
    assert code == 1
    expect(findings["clock"], Severity.PROBLEM, "cannot be right", "NTP")


def test_storage_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    settings, _ = load_settings(environment={}, overrides=[f"general.data_folder={tmp_path}"])
    empty = Installation(settings, {})
    checks = (storage.check_database, storage.check_packages, storage.check_index)
    assert [check(empty) for check in checks] == [None, None, None]


def test_every_check_has_a_subject_of_its_own(tmp_path: Path) -> None:
    settings, _ = load_settings(environment={}, overrides=[f"general.data_folder={tmp_path}"])
    subjects = [check.subject for check in all_checks(Installation(settings, {}))]
    assert len(subjects) == len(set(subjects))

"""What a doctor's check says of a clock, an extra, the compiled reader and the sandbox."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from time import time

import pytest

from ipmicra.cli.doctor import clock, software
from ipmicra.cli.doctor.finding import Severity
from ipmicra.cli.doctor.installation import Installation
from ipmicra.cli.extras import OF_LIBRARY
from ipmicra.crawler.extraction import compiled_markup
from ipmicra.host.sandbox.guards.selftest import SandboxGuard
from ipmicra.settings import load_settings


def installation(folder: Path, *words: str) -> Installation:
    return Installation(load_settings(None, {}, [f"general.data_folder={folder}", *words])[0], {})


@contextmanager
def coordinator(date: str, status: int) -> Iterator[str]:
    """Answers with this Date header, or without one."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(status)
            if date:
                self.send_header("Date", date)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("ahead_s", "status", "severity", "found"),
    [
        (0, 200, Severity.OK, "agrees with"),
        (0, 503, Severity.OK, "agrees with"),
        (60, 200, Severity.WARNING, "s ahead of"),
        (-60, 200, Severity.WARNING, "s behind"),
        (3600, 200, Severity.PROBLEM, "s ahead of"),
        (None, 200, Severity.WARNING, "no Date header"),
    ],
)
def test_the_clock_is_compared_with_the_coordinators(
    tmp_path: Path, ahead_s: int | None, status: int, severity: Severity, found: str
) -> None:
    date = "" if ahead_s is None else formatdate(time() - ahead_s, usegmt=True)
    with coordinator(date, status) as address:
        result = clock.check_against_coordinator(
            installation(tmp_path, f"coordinator.address={address}")
        )
    assert result is not None
    assert result.severity == severity
    assert found in result.found


@pytest.mark.parametrize(
    ("words", "severity", "found"),
    [
        (["coordinator.packages=s3://bucket"], Severity.PROBLEM, "this installation needs it"),
        ([], Severity.OK, "nothing here needs it"),
    ],
)
def test_a_missing_extra_matters_where_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], severity: Severity, found: str
) -> None:
    monkeypatch.setitem(OF_LIBRARY, "not_a_library.at_all", "s3")
    result = software.check_extra("s3", installation(tmp_path, *words))
    assert result.severity == severity
    assert "lacks not_a_library.at_all" in result.found
    assert found in result.found
    assert "pip install 'ipmicra[s3]'" in result.advice


def test_an_index_and_a_coordinator_need_their_extras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OF_LIBRARY, "not_a_library", "search")
    (tmp_path / "index").mkdir()
    (tmp_path / "index/meta.json").write_text("{}")
    assert software.check_extra("search", installation(tmp_path)).severity == Severity.PROBLEM
    (tmp_path / "other").mkdir()
    other = installation(tmp_path / "other", "coordinator.database=sqlite:///rows")
    assert software.check_extra("search", other).severity == Severity.PROBLEM


def test_pages_are_read_without_the_compiled_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_markup, "read", None)
    result = software.check_compiled_reader()
    assert result.severity == Severity.WARNING
    assert "more slowly, with the same results" in result.found


def test_a_missing_guard_is_named_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def guards() -> list[SandboxGuard]:
        missing = SandboxGuard("filter", False, True, "system calls", "seccomp is off")
        return [missing, SandboxGuard("namespaces", False, True, "its own view")]

    monkeypatch.setattr(software, "run_selftest", guards)
    result = software.check_sandbox(installation(tmp_path))
    assert result.severity == Severity.WARNING
    assert "missing: filter (seccomp is off), namespaces;" in result.found

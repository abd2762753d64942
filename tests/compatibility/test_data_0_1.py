"""Data folders that version 0.1.0 wrote, opened by this version through its commands.

`data-0.1/make_data.py` made them, and `data-0.1/expected.json` is what that version showed of them.
"""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ipmicra.host.store import HostStore
from tests.compatibility.commands import (
    DATA,
    copied,
    get,
    is_ready,
    run,
    run_json,
    running,
    running_web,
    wait_until,
)

EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())


def chosen(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def check_pages_are_found(found: dict[str, Any], before: dict[str, Any]) -> None:
    """Every page that 0.1 showed, with all that it knew of it. Order, folding and snippets may be better."""
    fields = ("url", "site", "title", "language", "crawler", "fetched_at_ms", "published_at_s")
    known = {hit["url"]: chosen(hit, *fields) for hit in found["hits"]}
    assert found["total"] == before["total"]
    for hit in before["hits"]:
        assert known[hit["url"]] == chosen(hit, *fields)


def hosts_in(status: dict[str, Any]) -> list[dict[str, Any]]:
    fields = ("name", "state", "address", "sites", "epoch", "report", "heard_s")
    return [chosen(host, *fields) for host in status["hosts"]]


def indexed(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "index" / "ledger.sqlite")) as ledger:
        rows = ledger.execute("SELECT url FROM pages WHERE facts IS NOT NULL ORDER BY url").fetchall()
    return [url for (url,) in rows]


def test_a_coordinators_rows_are_shown_as_they_were(tmp_path: Path) -> None:
    home = copied("coordinator", tmp_path)
    status, told = run_json(home, "coordinator", "status"), EXPECTED["status"]
    assert hosts_in(status) == hosts_in(told)
    for name in ("sites", "open_orders", "packages", "events"):
        assert status[name] == told[name], name
    fields = ("name", "address", "sites", "moves_to")
    crawlers, told = run_json(home, "coordinator", "crawlers", "--ended"), EXPECTED["crawlers"]
    assert [chosen(one, *fields) for one in crawlers] == [chosen(one, *fields) for one in told]
    lapsed = {"working": "lost"}  # their leases have run out since
    assert [one["state"] for one in crawlers] == [lapsed.get(one["state"], one["state"]) for one in told]


def test_pages_in_a_coordinators_index_are_found(tmp_path: Path) -> None:
    home = copied("coordinator", tmp_path)
    found = run_json(home, "search", "bread OR ship OR the", "--all-of-site", "--limit", "100")
    check_pages_are_found(found, EXPECTED["coordinated_search"])
    assert indexed(home) == EXPECTED["integrated"]


def test_an_index_is_made_anew_from_the_packages(tmp_path: Path) -> None:
    home = copied("crawl", tmp_path)
    shutil.rmtree(home / "index")
    run(home, "search", "the")
    assert indexed(home) == EXPECTED["crawl_index"]


@pytest.mark.slow
def test_a_coordinator_and_a_host_go_on_where_they_were(tmp_path: Path) -> None:
    home, host = copied("coordinator", tmp_path), copied("host", tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    call_another_coordinator(host, f"http://{place}")
    log, host_log = tmp_path / "coordinator.log", tmp_path / "host.log"

    def status() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(get("/v1/status", f"http://{place}"))
        return found

    with (
        running_web(tmp_path) as roots,
        running(home, log, "coordinator", "run", "--listen", place) as coordinator,
    ):
        assert roots == EXPECTED["roots"]
        wait_until(lambda: is_ready(f"http://{place}"), log)
        before, told = status(), EXPECTED["status"]
        assert [(one["name"], one["state"]) for one in before["hosts"]] == [
            (one["name"], one["state"]) for one in told["hosts"]
        ]
        assert sum(before["sites"].values()) == sum(told["sites"].values())
        assert before["packages"] == told["packages"]
        found = json.loads(get("/api/search?q=bread", f"http://{place}"))
        assert "http://bakery0.lima.example:21080/" in [hit["url"] for hit in found["hits"]]
        with running(host, host_log, "host", "run") as process:
            wait_until(lambda: "lima" in present(status()), host_log)
            assert held_by(status()) == held_by(told), (
                "who was silent with the coordinator keeps its sites"
            )
            wait_until(lambda: sum(status()["packages"].values()) > told["packages"]["integrated"], log)
            for root in roots:
                explained = json.loads(get(f"/v1/explain?url={root}", f"http://{place}"))
                assert explained["nearest"] == EXPECTED["explained"][root]["nearest"]
                assert explained["probes"] == EXPECTED["explained"][root]["probes"]
        assert process.returncode == 0, host_log.read_text()
    assert coordinator.returncode == 0, log.read_text()
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert lines
    assert all({"at", "level", "from", "what"} <= set(line) for line in lines)
    assert not [line for line in lines if line["level"] == "error" or "memory" in line]
    assert set(indexed(home)) >= set(EXPECTED["integrated"])


def call_another_coordinator(host: Path, address: str) -> None:
    """The same coordinator at another port, since the one that it had may be taken."""
    with closing(sqlite3.connect(host / "host" / "host.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE facts SET value = ? WHERE name = 'coordinator'", (address,))


def present(status: dict[str, Any]) -> list[str]:
    return [host["name"] for host in status["hosts"] if host["present"] and host["awake"]]


def held_by(status: dict[str, Any]) -> dict[str, int]:
    held = Counter({host["name"]: host["sites"] for host in status["hosts"]})
    return dict(+held) if set(status["sites"]) == {"delegated"} else {}


def test_a_crawl_is_resumed(tmp_path: Path) -> None:
    home = copied("crawl", tmp_path)
    found = run_json(home, "search", "the", "--all-of-site", "--limit", "100")
    check_pages_are_found(found, EXPECTED["crawl_search"])
    with running_web(tmp_path) as roots:
        summary = run_json(home, "crawl", roots[0], "--name", "kept")
    before = EXPECTED["crawl"]
    assert summary["known"] == before["known"]
    assert (summary["pages"], summary["pending"]) == (before["pages"] + before["pending"], 0)
    assert summary["progress"]["seen"] == before["pending"], (
        "pages that were known are not fetched again"
    )
    run(home, "search", "the")
    assert len(indexed(home)) == summary["pages"]
    assert set(indexed(home)) > set(EXPECTED["crawl_index"])


def test_a_hosts_folder_holds_what_it_held(tmp_path: Path) -> None:
    home = copied("host", tmp_path)
    fields = ("host", "coordinator", "running", "resting", "line", "sites", "pages", "pending")
    status = run_json(home, "host", "status")
    assert chosen(status, *fields, "packages_to_send") == chosen(
        EXPECTED["host_status"], *fields, "packages_to_send"
    )
    assert run_json(home, "host", "log") == EXPECTED["host_log"]
    with closing(HostStore(home / "host")) as ledger:
        held = [tuple(site) for site in ledger.held_sites()]
    assert sorted(held) == sorted(
        (site, epoch, address) for site, epoch, address, is_held in EXPECTED["held_sites"] if is_held
    )

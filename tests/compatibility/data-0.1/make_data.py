"""Data folders of a coordinator, a host and a standalone crawl, as version 0.1.0 wrote them.

    python tests/compatibility/data-0.1/make_data.py

It was run once, at version 0.1.0, before the code was renamed. Do not run it again in this folder: what a
later version writes does not show that it reads what 0.1.0 wrote. Copy the folder to `data-VERSION` and run
it there when a later version is released.

Comes in: nothing. Goes out: `coordinator.tar.gz`, `host.tar.gz`, `crawl.tar.gz` and `expected.json`, which
says what the commands of the version that wrote them showed.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.compatibility.commands import (  # noqa: E402
    COORDINATOR,
    COORDINATOR_PORT,
    get,
    is_ready,
    run,
    run_json,
    running,
    running_web,
    wait_until,
)

CRAWLED_PAGES = 4  # of six: the rest is left in the frontier


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_web(folder) as roots:
            expected = {"roots": roots, **_coordinated(folder, roots), **_standalone(folder, roots[0])}
        for part in ("coordinator", "host", "crawl"):
            with tarfile.open(HERE / f"{part}.tar.gz", "w:gz", compresslevel=9) as archive:
                archive.add(folder / part, part)
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


def _coordinated(folder: Path, roots: list[str]) -> dict[str, Any]:
    """Two hosts work, one has joined and never ran, one was revoked."""
    home, log = folder / "coordinator", folder / "coordinator.log"
    home.mkdir()
    hosts = {"lima": folder / "host", "oslo": folder / "oslo", "rome": folder / "rome"}
    with running(home, log, "coordinator", "run", "--listen", f"127.0.0.1:{COORDINATOR_PORT}"):
        wait_until(is_ready, log)
        for name, place in hosts.items():
            token = run_json(home, "coordinator", "register", name)["token"]
            run(place, "host", "join", COORDINATOR, token, "--yes")
        run(home, "coordinator", "register", "riga")
        run(home, "coordinator", "revoke", "riga")
        run(home, "coordinator", "pause", "rome", "--reason", "not used yet")
        lima, oslo = folder / "lima.log", folder / "oslo.log"
        with running(hosts["lima"], lima, "host", "run"), running(hosts["oslo"], oslo, "host", "run"):
            wait_until(lambda: _present() >= {"lima", "oslo"}, lima)
            run(home, "coordinator", "submit", *roots)
            wait_until(lambda: len(_integrated(home)) >= 6 * len(roots), log)
            wait_until(lambda: set(json.loads(get("/v1/status"))["sites"]) == {"delegated"}, log)
            wait_until(lambda: set(json.loads(get("/v1/status"))["packages"]) == {"integrated"}, log)
            explained = {root: json.loads(get(f"/v1/explain?url={root}")) for root in roots}
    return {
        "integrated": _integrated(home),
        "explained": explained,
        "status": run_json(home, "coordinator", "status"),
        "crawlers": run_json(home, "coordinator", "crawlers", "--ended"),
        "coordinated_search": run_json(home, "search", "bread OR ship OR the"),
        "host_status": run_json(hosts["lima"], "host", "status"),
        "host_log": run_json(hosts["lima"], "host", "log"),
        "held_sites": _rows(hosts["lima"], "host.sqlite", "SELECT * FROM sites ORDER BY 1"),
    }


def _standalone(folder: Path, root: str) -> dict[str, Any]:
    home = folder / "crawl"
    home.mkdir()
    summary = run_json(home, "crawl", root, "--name", "kept", "--pages", str(CRAWLED_PAGES))
    return {
        "crawl": {"pages": summary["pages"], "pending": summary["pending"], "known": summary["known"]},
        "crawl_search": run_json(home, "search", "the"),
        "crawl_index": _integrated(home),
    }


def _present() -> set[str]:
    hosts = json.loads(get("/v1/status"))["hosts"]
    return {host["name"] for host in hosts if host["present"] and host["awake"]}


def _integrated(home: Path) -> list[str]:
    try:
        rows = _rows(home, "ledger.sqlite", "SELECT url FROM pages WHERE facts IS NOT NULL ORDER BY url")
    except (StopIteration, sqlite3.OperationalError):  # it is being made
        return []
    return [url for (url,) in rows]


def _rows(home: Path, file: str, query: str) -> list[tuple[Any, ...]]:
    path = next(home.rglob(file))
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


if __name__ == "__main__":
    main()

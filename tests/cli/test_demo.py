"""The demo: the whole story plays, its figures make sense, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import msgspec
import pytest


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demo_plays_stays_up_for_the_curious_and_leaves_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ipmicra", "demo", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "200"},
        start_new_session=True,
    ) as demo:
        told = _looked_at(demo)
    assert demo.returncode == 0
    _check(msgspec.json.decode(told))
    assert list(tmp_path.iterdir()) == []


def _looked_at(demo: subprocess.Popen[bytes]) -> bytes:
    """Search as a curious person would, then end it. Returns what the demo printed."""
    try:
        with urllib.request.urlopen(f"{_search_page_of(demo)}?q=lighthouse", timeout=20) as answer:
            assert b"harbour" in answer.read().lower()
        demo.send_signal(
            signal.SIGTERM
        )  # as a machine would; a person presses Ctrl-C, which is the same
        told, _ = demo.communicate(timeout=60)
        return told
    finally:
        demo.kill()


def _search_page_of(demo: subprocess.Popen[bytes]) -> str:
    """Where the demo says that its search page is, once the story has been told."""
    assert demo.stderr is not None
    said = ""
    for line in demo.stderr:
        said += line.decode()
        found = re.search(r"search page at (\S+)", said)
        if found:
            return found[1]
    raise AssertionError(f"the demo ended early: {said}")


def _check(told: dict[str, object]) -> None:
    rows = {row["strategy"]: row for row in told["results"]}  # type: ignore[attr-defined]  # JSON
    assert told["pages"] == 288
    assert sum(told["sites_by_host"].values()) == 36  # type: ignore[attr-defined]  # JSON
    assert rows["optimum"]["nearest_share"] == 1.0
    assert rows["optimum"]["probes_per_site"] == 4.0
    assert rows["random"]["probes_per_site"] == 0.0
    assert rows["ours, live"]["nearest_share"] > 0.9
    assert rows["ours, live"]["probes_per_site"] < rows["IPMicra, 50 ms"]["probes_per_site"]
    assert rows["ours, live"]["total_s"] < 0.6 * rows["hashing"]["total_s"]

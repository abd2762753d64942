"""The changelog tells of the version that this is."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import ipmicra

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)


def test_the_newest_release_is_this_version_and_has_a_date() -> None:
    assert HEADINGS[0] == "Unreleased"
    version, _, day = HEADINGS[1].partition(" ")
    assert version == ipmicra.__version__
    assert date.fromisoformat(day.strip("()")) >= date(2026, 11, 18)


def test_a_release_says_how_to_upgrade_and_what_is_new() -> None:
    entry = CHANGELOG.partition(f"## {HEADINGS[1]}")[2].partition("\n## ")[0]
    assert "To upgrade from" in entry
    assert len(re.findall(r"^- ", entry, re.MULTILINE)) >= 5

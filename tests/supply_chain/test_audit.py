"""The report on licences and known weaknesses finds what it should, and says what it cannot know."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.audit import (
    Advisory,
    LicenceTable,
    declared_licence,
    licence_findings,
    licence_table,
    snapshot,
    weaknesses,
)
from tools.locked_requirements import REPOSITORY, LockedPackage, all_locked
from tools.refresh_advisories import advisories_in

CLICK = LockedPackage("click", "8.1.0", "", ())


def test_what_we_install_has_allowed_licences_and_no_weakness_that_is_known_here() -> None:
    assert list(licence_findings(all_locked(), licence_table())) == []
    assert list(weaknesses(all_locked(), snapshot().advisories)) == []


@pytest.mark.parametrize(
    ("expression", "declared", "told"),
    [
        (None, {}, "its licence is not in"),
        ("SSPL-1.0", {"click": "BSD-3-Clause"}, "SSPL-1.0 is not an allowed licence"),
        ("MIT", {}, "its metadata now says 'BSD-3-Clause'"),
        ("BSD-3-Clause", {}, ""),
    ],
)
def test_a_new_forbidden_or_changed_licence_is_found(
    expression: str | None, declared: dict[str, str], told: str
) -> None:
    packages = {} if expression is None else {"click": expression}
    table = LicenceTable(frozenset({"MIT", "BSD-3-Clause"}), packages, declared)
    assert declared_licence("click") == "BSD-3-Clause"
    found = [finding.what for finding in licence_findings([CLICK], table)]
    assert [told] if told else [what[: len(told)] for what in found] == []


@pytest.mark.parametrize(
    ("introduced", "fixed", "is_found"),
    [
        ("", "8.1.1", True),
        ("", "8.1.0", False),
        ("8.1.0", "", True),
        ("8.1.1", "", False),
        ("8", "9", True),
    ],
)
def test_a_version_is_compared_with_the_range_of_an_advisory(
    introduced: str, fixed: str, is_found: bool
) -> None:
    advisory = Advisory("CVE-1", "click", introduced, fixed, "what happens")
    assert bool(list(weaknesses([CLICK], [advisory]))) is is_found


def test_the_snapshot_says_its_date_and_is_about_what_we_install() -> None:
    taken = snapshot()
    assert taken.date >= "2026-11-18"
    assert len(taken.source) > 10
    names = {package.name for package in all_locked()}
    assert {advisory.package for advisory in taken.advisories} <= names
    assert taken.advisories


def test_osv_records_become_a_snapshot(tmp_path: Path) -> None:
    record = {
        "id": "GHSA-1",
        "aliases": ["CVE-2026-1"],
        "summary": "a\nweakness",
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": "Click"},
                "ranges": [
                    {"type": "GIT", "events": [{"introduced": "0"}]},
                    {
                        "type": "ECOSYSTEM",
                        "events": [{"introduced": "0"}, {"fixed": "8.2"}, {"introduced": "9.0"}],
                    },
                ],
            },
            {"package": {"ecosystem": "PyPI", "name": "other"}, "ranges": []},
        ],
    }
    (tmp_path / "1.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "2.json").write_text(json.dumps({**record, "withdrawn": "2026"}), encoding="utf-8")
    assert list(advisories_in(tmp_path, {"click"})) == [
        Advisory("CVE-2026-1", "click", "", "8.2", "a weakness"),
        Advisory("CVE-2026-1", "click", "9.0", "", "a weakness"),
    ]


def test_the_command_fails_on_a_weakness_and_names_the_date(tmp_path: Path) -> None:
    weak = Advisory("CVE-2026-2", "click", "", "", "everything")
    told = {"date": "2026-11-01", "source": "a test", "advisories": [weak._asdict()]}
    (tmp_path / "advisories.json").write_text(json.dumps(told), encoding="utf-8")
    line = [sys.executable, "tools/audit.py", "--advisories", str(tmp_path / "advisories.json")]
    result = subprocess.run(line, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "CVE-2026-2" in result.stdout
    assert "as of 2026-11-01" in result.stdout

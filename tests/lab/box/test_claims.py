"""The claims: each can be named, and runs from the first packet to its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ipmicra.cli.main import program
from ipmicra.errors import OperatorFault
from ipmicra.lab.box.claims import claim, names


@pytest.mark.parametrize("name", names())
def test_every_claim_says_what_it_asks_and_what_the_papers_report(name: str) -> None:
    chosen = claim(name)
    assert chosen.TITLE
    assert len(chosen.PAPER.strip()) > 50
    assert callable(chosen.run)


def test_an_unknown_claim_is_the_operators_fault() -> None:
    with pytest.raises(OperatorFault, match="known are: "):
        claim("perpetual-motion")


def test_the_claims_are_listed() -> None:
    told = CliRunner().invoke(program, ["lab", "box", "claims", "--json"], catch_exceptions=False)
    assert sorted(json.loads(told.stdout)) == names()


@pytest.mark.parametrize("name", names())
def test_every_claim_has_its_page_with_the_command_that_made_it(name: str) -> None:
    page = Path(__file__).parents[3] / "docs" / "experiments" / f"box-{name}.md"
    assert f"    ipmicra lab box claim {name} --seed" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_claim_runs_to_its_tables_plots_and_page(box_allowed: None, tmp_path: Path) -> None:
    """Nearest crawlers carry bytes less far than one central one does: the smallest world shows it."""
    line = ["--set", f"general.data_folder={tmp_path / 'data'}", "lab", "box", "claim", "bytes-distance"]
    line += ["--quick", "--json", "--out", str(tmp_path / "out"), "--pages", str(tmp_path / "pages")]
    told = CliRunner().invoke(program, line, catch_exceptions=False)
    assert told.exit_code == 0, told.stderr
    found = json.loads(told.stdout)["bytes-distance"]
    rows = {row["strategy"]: row for row in found["tables"][0]["rows"]}
    assert rows["brute-force"]["fetched_mb_s"] < rows["one central crawler"]["fetched_mb_s"]
    assert rows["brute-force"]["fetched_mb_s"] <= rows["hash"]["fetched_mb_s"]
    assert found["figures"]["router_packets"] > 1_000
    assert json.loads((tmp_path / "out" / "bytes-distance.json").read_bytes()) == found
    page = (tmp_path / "pages" / "box-bytes-distance.md").read_text()
    assert "ipmicra lab box claim bytes-distance --seed 1" in page
    assert (tmp_path / "pages" / "box-bytes-distance-distance.svg").exists()


@pytest.mark.slow
def test_changed_routes_are_found_and_what_is_everywhere_fools_nobody(
    box_allowed: None, tmp_path: Path
) -> None:
    line = ["--set", f"general.data_folder={tmp_path}", "lab", "box", "claim", "calibration"]
    told = CliRunner().invoke(program, [*line, "--quick", "--json"], catch_exceptions=False)
    assert told.exit_code == 0, told.stderr
    tables = json.loads(told.stdout)["calibration"]["tables"]
    before, changed, healed = tables[0]["rows"]
    assert before["moves"] == 0
    assert changed["moves"] > 0
    assert changed["wrong_last"] <= before["wrong_last"] < changed["wrong_first"]
    assert before["fooled"] + changed["fooled"] + healed["fooled"] == 0
    papers, ours = tables[1]["rows"]
    assert ours["near"] >= papers["near"], "one organisation in many places"
    assert ours["excess_ms"] <= papers["excess_ms"]

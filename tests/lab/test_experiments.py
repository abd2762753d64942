"""Every experiment runs on a generated world, twice alike, and fills its table, plots and page."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
import pytest

from ipmicra.cli.main import run
from ipmicra.errors import OperatorFault
from ipmicra.hierarchy import build_tree
from ipmicra.lab.experiments import experiment, names
from ipmicra.lab.findings import Findings, FindingsColumn, Plot, Series, Tabulated
from ipmicra.lab.generated import generate
from ipmicra.lab.harness import ExperimentHarness
from ipmicra.lab.pages import markdown_table, page
from ipmicra.lab.plots import drawn
from ipmicra.registry.treefile import write_tree

SVG_BYTES_MAX = 100_000


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> ExperimentHarness:
    generated = generate(seed=1, host_count=90)
    tree_file = tmp_path_factory.mktemp("lab") / "world.tree"
    write_tree(tree_file, build_tree(generated.allocations).tree, about={})
    return ExperimentHarness(generated.world, tree_file, draw_count=2)


@pytest.fixture(scope="module")
def found(harness: ExperimentHarness) -> Callable[[str], Findings]:
    """Findings by the experiment's name; each is run once."""
    return cache(lambda name: experiment(name).run(harness))


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_an_experiment_fills_table_plots_and_page(
    name: str, harness: ExperimentHarness, found: Callable[[str], Findings], tmp_path: Path
) -> None:
    chosen, findings = experiment(name), found(name)
    assert findings.experiment == name
    assert (findings.draws, findings.seed, findings.world) == (2, 1, harness.world.name)
    for table in findings.tables:
        assert table.rows
        for row in table.rows:
            assert all(column.key in row for column in table.columns), table.title
    images = drawn(findings, tmp_path, name, kinds=("svg",))
    assert len(images) == len(findings.plots) >= 1
    assert all(image.stat().st_size < SVG_BYTES_MAX for image in images)
    text = page(chosen, findings, f"ipmicra lab run {name}", [image.name for image in images])
    assert chosen.TITLE in text
    assert all(words in text for words in findings.verdict)
    assert msgspec.json.decode(msgspec.json.encode(findings), type=Findings) == findings


@pytest.mark.slow
def test_the_same_seed_finds_the_same(
    harness: ExperimentHarness, found: Callable[[str], Findings]
) -> None:
    for name in ("table-650-350", "placement", "two-thirds"):
        assert msgspec.json.encode(experiment(name).run(harness)) == msgspec.json.encode(found(name)), (
            name
        )


@pytest.mark.parametrize("name", ["figure-3", "figure-4", "figure-5", "table-650-350", "noise"])
def test_the_papers_strategy_ours_hashing_and_the_optimum_are_in_every_figure(
    name: str, found: Callable[[str], Findings]
) -> None:
    strategies = {str(row["strategy"]) for row in found(name).tables[0].rows}
    assert strategies >= {"ipmicra@50", "adaptive", "hash", "brute-force"}


def test_a_placement_is_judged_on_sites_the_planner_did_not_see(
    found: Callable[[str], Findings],
) -> None:
    rows = {(row["crawlers"], row["way"]): row for row in found("placement").tables[0].rows}
    assert float(rows[12.0, "planner"]["mean_ms"]) < float(rows[12.0, "random"]["mean_ms"])
    assert float(rows[12.0, "planner"]["mean_ms"]) < float(rows[4.0, "planner"]["mean_ms"])


@pytest.mark.slow
def test_no_policy_beats_the_optimum_and_assigning_with_all_measured_is_it(
    found: Callable[[str], Findings],
) -> None:
    costs = {(row["policy"], row["base"]): row["cost"] for row in found("two-thirds").tables[1].rows}
    assert all(float(cost) > 0.999 for cost in costs.values())
    assert costs["assignment", "all measured"] == pytest.approx(1.0, abs=1e-3)


def test_balancing_in_passes_asks_no_more_than_one_probe_a_site(
    found: Callable[[str], Findings],
) -> None:
    rows = {(row["policy"], row["base"]): row for row in found("two-thirds").tables[1].rows}
    for base in ("ipmicra@50", "adaptive"):
        believed, at_once, settled = (
            rows[policy, base]
            for policy in ("assignment", "assign-and-probe", "assign-and-probe, in passes")
        )
        assert float(settled["extra_probes"]) <= 1.0
        assert float(settled["moves"]) >= float(at_once["moves"])
        assert float(settled["cost"]) < float(believed["cost"]), "its probes are worth something"


def findings_of(*plots: Plot) -> Findings:
    return Findings("x", "w", 2, 1, [], list(plots), ["words"])


def test_a_plot_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    line = Plot(
        "a", "T", "x", "y", [Series("s", [1.0, 2.0], [3.0, 4.0], low=[2.0, 3.0], high=[4.0, 5.0])]
    )
    bars = Plot(
        "b", "T", "", "y", [Series("s", ["p", "q"], [3.0, 4.0], low=[2.0, 3.0], high=[4.0, 5.0])]
    )
    first, again = (drawn(findings_of(line, bars), tmp_path / side, "n") for side in ("one", "two"))
    assert [path.name for path in first] == ["n-a.svg", "n-a.png", "n-b.svg", "n-b.png"]
    for one, two in zip(first, again, strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_a_table_in_markdown_puts_numbers_to_the_right() -> None:
    columns = [FindingsColumn("who", "strategy"), FindingsColumn("share", "share", ".0%")]
    table = Tabulated("T", columns, [{"strategy": "hash", "share": 0.084}, {"strategy": "worst"}])
    assert markdown_table(table).splitlines()[2:] == [
        "| who | share |",
        "|---|---:|",
        "| hash | 8% |",
        "| worst |  |",
    ]


def test_the_command_writes_results_plots_and_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPMICRA_GENERAL_DATA_FOLDER", str(tmp_path / "kept"))
    options = ["--draws", "2", "--sites", "40", "--jobs", "1", "--noise", "made-up"]
    places = ["--out", str(tmp_path / "out"), "--page", str(tmp_path / "docs" / "table.md")]
    assert run(["lab", "run", "table-650-350", *options, *places]) == 0
    shown = capsys.readouterr()
    assert "brute-force" in shown.out
    assert "wrote" in shown.err
    results = json.loads((tmp_path / "out" / "table-650-350.json").read_text())
    assert results["experiment"] == "table-650-350"
    assert (tmp_path / "out" / "table-650-350-nearest.png").read_bytes()[:4] == b"\x89PNG"
    text = (tmp_path / "docs" / "table.md").read_text()
    assert "ipmicra lab run table-650-350 --draws 2 --seed 1 --sites 40 --noise made-up" in text
    assert "(table-nearest.svg)" in text
    assert (tmp_path / "docs" / "table-nearest.svg").is_file()


def test_experiments_are_listed_and_unknown_ones_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in listed] == names()
    with pytest.raises(OperatorFault, match="unknown experiment 'figure-99'"):
        experiment("figure-99")

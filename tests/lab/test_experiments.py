"""Every experiment runs on a made-up world, twice alike, and fills its table, plots and page."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from ipmicra.cli.main import run
from ipmicra.errors import OperatorFault
from ipmicra.hierarchy import build_tree
from ipmicra.lab.experiments import experiment, names
from ipmicra.lab.findings import Column, Findings, Plot, Series, Tabulated
from ipmicra.lab.generated import generate
from ipmicra.lab.kit import Kit
from ipmicra.lab.pages import markdown_table, page
from ipmicra.lab.plots import drawn
from ipmicra.registry.treefile import write_tree

SVG_BYTES_MAX = 100_000


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    generated = generate(seed=1, host_count=90)
    tree_file = tmp_path_factory.mktemp("lab") / "world.tree"
    write_tree(tree_file, build_tree(generated.allocations).tree, about={})
    return Kit(generated.world, tree_file, draw_count=2)


@pytest.mark.parametrize("name", names())
def test_an_experiment_fills_table_plots_and_page(name: str, kit: Kit, tmp_path: Path) -> None:
    chosen = experiment(name)
    findings = chosen.run(kit)
    assert findings.experiment == name
    assert (findings.draws, findings.seed, findings.world) == (2, 1, kit.world.name)
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


def test_the_same_seed_finds_the_same(kit: Kit) -> None:
    def found() -> bytes:
        return msgspec.json.encode(experiment("figure-5").run(kit))

    assert found() == found()


def test_the_papers_strategies_ours_hashing_and_the_optimum_are_in_every_figure(kit: Kit) -> None:
    for name in ("figure-3", "figure-5", "table-650-350", "noise"):
        strategies = {str(row["strategy"]) for row in experiment(name).run(kit).tables[0].rows}
        assert strategies >= {"ipmicra@50", "adaptive", "hash", "brute-force"}, name


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
    columns = [Column("who", "strategy"), Column("share", "share", ".0%")]
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
    with pytest.raises(OperatorFault, match="there is no experiment 'figure-99'"):
        experiment("figure-99")

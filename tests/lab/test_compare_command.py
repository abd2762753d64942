"""`ipmicra lab compare` as a stranger would run it, on tiny files of the documented form."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest

from ipmicra.cli.main import run
from ipmicra.lab.generated import generate

PROMISED = {
    "strategy",
    "optimal_share",
    "within_5ms_share",
    "excess_ms_mean",
    "excess_ms_p95",
    "probes_per_site",
    "probes_per_site_last_50",
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A world of 40 hosts as files, one of its pairs missing."""
    monkeypatch.setenv("IPMICRA_GENERAL_DATA_FOLDER", str(tmp_path / "kept"))
    folder = tmp_path / "world"
    folder.mkdir()
    world = generate(1, 40).world
    nodes = ["probe_id,ipv4,continent", *(f"{p.name},{p.address},{p.continent}" for p in world.places)]
    (folder / "nodes.csv").write_text("\n".join(nodes))
    pairs = [
        f"{a},{b},{world.round_trips_ms[a, b]:.3f}" for a, b in itertools.combinations(range(40), 2)
    ]
    lines = "\n".join(["source_probe,target_probe,min_rtt_ms", *pairs[1:]])
    (folder / "rtt.csv.gz").write_bytes(gzip.compress(lines.encode()))
    return folder


def compare(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["lab", "compare", "--jobs", "1", "--draws", "2", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_json_holds_results_with_the_promised_fields_and_nothing_beside(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--data", str(data), "--crawlers", "5", "--strategy", "brute-force, hash", "--json"]
    code, out, err = compare(capsys, *arguments)
    document = json.loads(out)
    assert (code, list(document)) == (0, ["results"])
    assert [row["strategy"] for row in document["results"]] == ["brute-force", "hash"]
    for row in document["results"]:
        assert row.keys() >= PROMISED | {"optimal_share_min", "optimal_share_max", "draws", "sites"}
    best = document["results"][0]
    assert (best["optimal_share"], best["excess_ms_mean"], best["probes_per_site"]) == (1.0, 0.0, 5.0)
    assert "no --registry" in err


def test_the_same_seed_gives_the_same_results(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def results(seed: str) -> list[dict[str, float]]:
        arguments = ["--data", str(data), "--crawlers", "5", "--strategy", "random", "--json"]
        found = json.loads(compare(capsys, *arguments, "--seed", seed)[1])["results"]
        return [{key: value for key, value in row.items() if key != "cpu_us_per_site"} for row in found]

    assert results("1") == results("1")
    assert results("1") != results("2")


def test_people_get_a_table(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = compare(capsys, "--data", str(data), "--crawlers", "4", "--strategy", "hash")
    assert code == 0
    assert "strategy" in out
    assert "hash" in out


def test_registry_data_and_noise_are_taken(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "delegated-x-extended-latest").write_text("x|GR|ipv4|20.0.0.0|65536|0|allocated|h\n")
    arguments = ["--data", str(data), "--registry", str(tmp_path), "--noise", "made-up", "--json"]
    code, out, err = compare(capsys, *arguments, "--crawlers", "5", "--strategy", "brute-force")
    assert code == 0
    assert "making the tree of 1 registry files" in err
    assert 0.5 < json.loads(out)["results"][0]["optimal_share"] <= 1.0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--data", "/nowhere"], "no such file or folder of latency data"),
        (["--strategy", "psychic"], "unknown strategy 'psychic'"),
        (["--strategy", "hash", "--crawlers", "9999"], "9999 crawlers were asked for"),
        (["--noise", "/nowhere"], "holds no file *rtt_hourly.csv"),
    ],
)
def test_what_the_operator_got_wrong_is_said(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    code, _, err = compare(capsys, *arguments)
    assert code == 3
    assert complaint in err

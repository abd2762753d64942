"""`ipmicra registry build, stats, show` as a person or a program runs them."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ipmicra.cli.main import run
from ipmicra.registry.files import registry_files
from ipmicra.registry.sample_world import SAMPLE_ADDRESS, sample_folder
from ipmicra.registry.tree_build import build

GOOD = b"inetnum: 192.0.2.0 - 192.0.2.255\ndescr: %s\ncountry: DE\nsource: RIPE\n\n"


class Told(NamedTuple):
    out: str
    err: str


class RegistryCli:
    """An operator with a data folder of his own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    @property
    def tree(self) -> Path:
        return self.folder / "registry" / "subnets.tree"

    def says(self, *arguments: str, code: int = 0) -> Told:
        found = run(["--set", f"general.data_folder={self.folder}", "registry", *arguments])
        told = self._capsys.readouterr()
        assert found == code, told.err
        return Told(told.out, told.err)

    def json(self, *arguments: str) -> Any:
        return json.loads(self.says(*arguments, "--json").out)

    def write(self, name: str, contents: bytes) -> str:
        path = self.folder / "whois" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)
        return str(path)


@pytest.fixture
def registry_cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> RegistryCli:
    return RegistryCli(tmp_path / "data", capsys)


def test_the_sample_world_is_built_and_an_address_walked_through_it(registry_cli: RegistryCli) -> None:
    report = registry_cli.json("build", "--sample")
    assert report["statistics"]["ipv4"]["ranges"] == 14
    assert report["changes"] is None
    (walk,) = registry_cli.json("show", SAMPLE_ADDRESS)
    assert [step["range"] for step in walk["steps"]] == [
        "0.0.0.0/0",
        "198.51.100.0/24",
        "198.51.100.0/26",
        "198.51.100.8/30",
        "198.51.100.9/32",
    ]
    assert walk["steps"][1] == {
        "range": "198.51.100.0/24",
        "handle": "ORG-TB1-RIPE",
        "organisation": "Tulipnet B.V.",
        "country": "NL",
        "registry": "ripencc",
        "status": "allocated pa",
        "source": "ripe.db.inetnum",
        "asn": 0,
    }


def test_people_see_a_tree_with_organisation_country_and_registry(registry_cli: RegistryCli) -> None:
    registry_cli.says("build", "--sample")
    told = registry_cli.says("show", SAMPLE_ADDRESS).out
    for word in (
        "the whole Internet",
        "Tulipnet B.V.",
        "ORG-TB1-RIPE",
        "NL",
        "ripencc",
        "198.51.100.9/32",
    ):
        assert word in told


def test_names_are_looked_up_in_the_dns(registry_cli: RegistryCli) -> None:
    registry_cli.says("build", "--sample")
    assert "127.0.0.1" in [walk["address"] for walk in registry_cli.json("show", "localhost")]


@pytest.mark.parametrize("asked", ["", "1.2.3", "1.2.3.4/24", "two words", "x" * 300, "a..b"])
def test_bad_input_is_told_with_what_to_write(registry_cli: RegistryCli, asked: str) -> None:
    registry_cli.says("build", "--sample")
    assert "neither an address nor a name" in registry_cli.says("show", asked, code=3).err


def test_a_name_that_does_not_exist_is_told(registry_cli: RegistryCli) -> None:
    registry_cli.says("build", "--sample")
    assert "looking up nowhere.invalid" in registry_cli.says("show", "nowhere.invalid", code=4).err


def test_without_a_tree_the_way_to_one_is_told(registry_cli: RegistryCli) -> None:
    assert "ipmicra registry build" in registry_cli.says("show", "192.0.2.1", code=3).err
    assert "ipmicra registry build" in registry_cli.says("stats", code=3).err


def test_stats_say_what_is_in_the_tree_and_what_was_skipped(registry_cli: RegistryCli) -> None:
    whois = registry_cli.write("ripe.db", GOOD % b"A" + b"inetnum: rubbish\nsource: RIPE\n\nperson: X\n")
    registry_cli.says("build", whois, code=3)
    args = [
        "--set",
        "registry.malformed_share_max=0.5",
        "--set",
        f"general.data_folder={registry_cli.folder}",
    ]
    assert run([*args, "registry", "build", whois]) == 0
    registry_cli.says("stats")
    report = registry_cli.json("stats")
    assert report["statistics"]["countries"] == {"DE": 1}
    assert report["statistics"]["registries"] == {"ripencc": 1}
    skipped = report["about"]["skipped"]
    assert skipped["passed_over"] == {"person": 1}
    assert skipped["malformed"]["bad-prefix-length"]["count"] == 1
    assert skipped["malformed"]["bad-prefix-length"]["examples"] == [
        {"file": "ripe.db", "line": 6, "excerpt": "inetnum: rubbish\nsource: RIPE"}
    ]
    assert "ripe.db:6" in registry_cli.says("stats").out


def test_too_many_malformed_records_refuse_the_build_and_the_old_tree_stays(
    registry_cli: RegistryCli,
) -> None:
    registry_cli.says("build", "--sample")
    before = registry_cli.tree.read_bytes()
    whois = registry_cli.write("ripe.db", GOOD % b"A" + b"inetnum: rubbish\nsource: RIPE\n")
    told = registry_cli.says("build", whois, code=3).err
    assert "50.00%" in told
    assert "ripe.db, line 6" in told
    assert "The old tree stays" in told
    assert registry_cli.tree.read_bytes() == before


def test_a_damaged_file_refuses_the_build_whatever_the_share(registry_cli: RegistryCli) -> None:
    packed = gzip.compress(b"".join(GOOD % str(n).encode() for n in range(5000)))
    whois = registry_cli.write("ripe.db.gz", packed[:-100])
    assert "damaged" in registry_cli.says("build", whois, code=3).err
    assert not registry_cli.tree.exists()


def test_stats_checks_every_byte_of_the_tree_and_names_the_damaged_part(
    registry_cli: RegistryCli,
) -> None:
    registry_cli.says("build", "--sample")
    whole = registry_cli.tree.read_bytes()
    place = whole.rindex(b"Prairie Carrier")
    registry_cli.tree.write_bytes(whole[:place] + b"X" + whole[place + 1 :])
    told = registry_cli.says("stats", code=3).err
    assert "its section names.organisation_names.letters does not match its checksum" in " ".join(
        told.split()
    )
    assert registry_cli.json("build", "--sample")["old_tree_refused"]
    registry_cli.says("stats")


def test_a_rebuild_tells_what_was_added_removed_and_changed_hands(registry_cli: RegistryCli) -> None:
    other = b"inetnum: 198.51.100.0 - 198.51.100.255\ndescr: C\nsource: RIPE\n\n"
    third = other.replace(b"198.51", b"198.52")
    whois = registry_cli.write("ripe.db", GOOD % b"A" + other)
    registry_cli.says("build", whois)
    registry_cli.write("ripe.db", GOOD % b"B" + third)
    changes = registry_cli.json("build", whois)["changes"]
    assert (changes["added"], changes["removed"], changes["changed_hands"]) == (1, 1, 1)
    assert changes["examples_changed_hands"] == [{"range": "192.0.2.0/24", "before": "A", "after": "B"}]
    registry_cli.write("ripe.db", GOOD % b"A" + third)
    assert "B -> A" in registry_cli.says("build", whois).out


def test_an_old_tree_that_cannot_be_read_is_replaced_and_said_to_be_so(
    registry_cli: RegistryCli,
) -> None:
    registry_cli.says("build", "--sample")
    registry_cli.tree.write_bytes(b"rubbish")
    assert "not compared with the old tree" in registry_cli.says("build", "--sample").err
    registry_cli.says("show", SAMPLE_ADDRESS)


def test_in_a_folder_other_files_are_left_out_yet_a_named_one_must_be_known(
    registry_cli: RegistryCli,
) -> None:
    registry_cli.write("ripe.db", GOOD % b"A")
    readme = registry_cli.write("README.md", b"# hello\n")
    told = registry_cli.says("build", str(Path(readme).parent))
    assert "README.md" in told.err
    assert "no format that is known" in registry_cli.says("build", readme, code=3).err
    assert "does not exist" in registry_cli.says("build", "/nowhere/at/all", code=3).err


class Interrupted:
    """A watcher at whose screen someone presses Ctrl-C when a stage begins."""

    def __init__(self, at_stage: str) -> None:
        self._at_stage = at_stage

    def reading(self, name: str, total_bytes: int) -> Callable[[int], None]:
        self.stage("reading")
        return lambda read_bytes: None

    def stage(self, name: str) -> None:
        if name == self._at_stage:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def heard_ctrl_c() -> Iterator[None]:
    """Who is started in the background is started deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard_ctrl_c")
@pytest.mark.parametrize(
    "stage",
    [
        "reading",
        "joining organisations",
        "nesting ranges",
        "comparing with the old tree",
        "writing the tree",
    ],
)
def test_ctrl_c_at_any_stage_leaves_the_old_tree_and_nothing_beside_it(
    registry_cli: RegistryCli, stage: str
) -> None:
    registry_cli.says("build", "--sample")
    before = registry_cli.tree.read_bytes()
    found = registry_files([Path(registry_cli.write("ripe.db", GOOD % b"A"))])
    with pytest.raises(KeyboardInterrupt):
        build(found, registry_cli.tree, 0.01, Interrupted(stage))
    assert registry_cli.tree.read_bytes() == before
    assert [path.name for path in registry_cli.tree.parent.iterdir()] == ["subnets.tree"]


def test_the_sample_holds_every_public_format_family() -> None:
    names = {path.name for path in sample_folder().iterdir()}
    assert {"ripe.db.inetnum", "apnic.db.inetnum", "afrinic.db", "arin_db.txt", "lacnic.db"} <= names

"""A host runs only code that its owner installed, until they accept other code."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from ipmicra.cli.main import program
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.host.code.consent import accept, accepted_root, withdraw
from ipmicra.protocol.bundle_trust import fingerprint, first_root
from tests.coordinator.world import World, made_up_world
from tests.host.code.published_bundles import Publisher, publishing
from tests.system_parts import needed


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Publisher]:
    with publishing(tmp_path / "operator") as running:
        yield running


def test_a_root_is_kept_only_under_the_fingerprint_that_was_told(
    publisher: Publisher, tmp_path: Path
) -> None:
    root = first_root(publisher.address)
    told = fingerprint(publisher.root)
    with pytest.raises(OperatorFault, match="over another channel"):
        accept(tmp_path, root, told[:-1] + "x")
    assert accepted_root(tmp_path) is None
    accept(tmp_path, root, told.upper().replace(" ", ""))
    assert accepted_root(tmp_path) == root
    assert withdraw(tmp_path)
    assert accepted_root(tmp_path) is None
    assert not withdraw(tmp_path)


def test_a_coordinator_without_signed_code_says_so(publisher: Publisher) -> None:
    publisher.file("metadata/1.root.json").unlink()
    with pytest.raises(OperatorFault, match="no signed code"):
        first_root(publisher.address)
    with pytest.raises(HostFault):
        first_root("http://127.0.0.1:9")


def bundle(world: World, name: str, *words: str) -> str:
    home = ["--set", f"general.data_folder={world.folder / 'home'}"]
    result = CliRunner().invoke(program, [*home, "bundle", name, *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_new_code_reaches_a_host_by_the_documented_commands_alone(tmp_path: Path) -> None:
    needed("bwrap")
    places = ["--keys", str(tmp_path / "keys"), "--repository", str(tmp_path / "bundles")]
    database = f"sqlite:///{tmp_path / 'rows.sqlite'}"
    settings = {"coordinator.rollout_soak_seconds": "1", "host.sandbox": "always"}
    with made_up_world(tmp_path, database, sites=2, pages=30, settings=settings) as world:
        told = msgspec.json.decode(bundle(world, "init", *places, "--json"))["fingerprint"]
        bundle(world, "build", "--version", "9.1", str(tmp_path / "crawler.zip"))
        bundle(world, "sign", str(tmp_path / "crawler.zip"), *places)
        world.coordinator.rows("init")
        bundle(world, "publish", *places[2:], "--roll-out", "9.1", "--database", database)
        world.coordinator.start()
        world.join("lima")
        assert "signed under" in world.host_command("lima", "trust", told)
        world.start_host("lima")
        world.until(lambda: code_of(world).get("trial") == "9.1", 120)
        world.coordinator.rows("submit", *world.roots)  # it has to fetch something to prove itself
        world.until(lambda: code_of(world).get("version") == "9.1", 120)
        world.until(lambda: set(world.integrated()) == world.urls, 120)
        assert len(world.integrated()) == len(world.urls)
        world.hosts["lima"].send_signal(signal.SIGTERM)
        assert world.hosts["lima"].wait(60) == 0


def code_of(world: World) -> dict[str, object]:
    found = [host.report.get("code", {}) for host in world.client.status().hosts]
    return found[0] if found and isinstance(found[0], dict) else {}

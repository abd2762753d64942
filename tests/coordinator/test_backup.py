"""Backups under load, each restored: nothing that was acknowledged before is lost, and hosts go on."""

from __future__ import annotations

import io
import os
import signal
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec
import pytest
from sqlalchemy import func, select

from ipmicra.carrier.package import pack
from ipmicra.cli.main import run
from ipmicra.coordinator.admin import api_tokens, sessions
from ipmicra.coordinator.admin.api_tokens import TokenScope
from ipmicra.coordinator.backup import restore as restore_module
from ipmicra.coordinator.backup.archive_writer import Backup
from ipmicra.coordinator.backup.fencing import GAP
from ipmicra.coordinator.backup.restore import SETTINGS_FILE, restore, verify
from ipmicra.coordinator.store import handovers, hosts, orders, sites
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import (
    admin_session_table,
    handover_table,
    order_table,
    package_table,
    schema_version_table,
    site_table,
)
from ipmicra.errors import OperatorFault
from ipmicra.model.ids import SiteEpoch
from ipmicra.protocol.host_messages import Resume
from tests.coordinator.conftest import emptied
from tests.coordinator.harness import TREE, CoordinatorHarness
from tests.coordinator.ingest.ingest_harness import NOW, PAGE, IntegrationHarness
from tests.coordinator.s3_server import BUCKET, s3_server
from tests.coordinator.world import World, made_up_world

BACKUPS = 5


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[IntegrationHarness]:
    kitchen = IntegrationHarness(database, tmp_path)
    for sequence in (1, 2, 3):
        kitchen.send(pack([PAGE], "lima", sequence), sequence)
    kitchen.worker().integrate_pending(NOW)
    kitchen.send(pack([PAGE], "lima", 4), 4)  # acknowledged, not integrated yet
    yield kitchen
    kitchen.index.close()


def backed_up(kitchen: IntegrationHarness, folder: Path, copies: bool = True) -> Path:
    file = folder / "backup.tar"
    backup = Backup(kitchen.database, kitchen.store, folder, "packages", "[general]\n", copies)
    backup.make(file, NOW)
    return file


class Restored:
    def __init__(self, file: Path, folder: Path, address: str = "", planned: bool = False) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.store = FilePackageStore(folder / "packages")
        address = address or f"sqlite:///{folder / 'coordinator.sqlite'}"
        empty = Database.empty(address)
        restore(file, empty, self.store, folder, NOW, planned)
        empty.close()
        self.database = Database(address, create=False)


def test_rows_and_packages_come_back_as_they_were(kitchen: IntegrationHarness, tmp_path: Path) -> None:
    restored = Restored(backed_up(kitchen, tmp_path), tmp_path / "new", planned=True)
    for table in (package_table, schema_version_table):
        with kitchen.database.read() as before, restored.database.read() as after:
            assert before.execute(select(table)).all() == after.execute(select(table)).all()
    with restored.database.read() as connection:
        digests = list(connection.execute(select(package_table.c.digest)).scalars())
    assert len({restored.store.fetch(digest) for digest in digests}) == len(set(digests)) == 4
    restored.database.close()


def test_a_backup_goes_into_another_kind_of_database(
    kitchen: IntegrationHarness, tmp_path: Path, postgresql: str
) -> None:
    file = backed_up(kitchen, tmp_path)
    if kitchen.database.is_postgresql:
        restored = Restored(file, tmp_path / "new")
    else:
        emptied(postgresql)
        restored = Restored(file, tmp_path / "new", postgresql)
    with restored.database.begin() as connection:
        hosts.register(connection, "oslo", "another", NOW, 60)
        number = orders.give(connection, "lima", Resume(), "r", NOW)
        assert hosts.host_named(connection, "lima") is not None
    assert number > GAP
    restored.database.close()


def test_it_is_not_restored_over_a_coordinator(kitchen: IntegrationHarness, tmp_path: Path) -> None:
    file = backed_up(kitchen, tmp_path)
    with pytest.raises(OperatorFault, match="there is a coordinator in"):
        restore(file, kitchen.database, kitchen.store, tmp_path, NOW)


@pytest.mark.parametrize("cut", [0.3, 0.7, 1.0])
def test_a_cut_backup_is_refused_and_leaves_no_coordinator(
    kitchen: IntegrationHarness, tmp_path: Path, cut: float
) -> None:
    file = backed_up(kitchen, tmp_path)
    data = file.read_bytes()
    file.write_bytes(data[: int(data.index(b"manifest.json") * cut)])
    with pytest.raises(OperatorFault):
        verify(file, lambda: kitchen.store)
    with pytest.raises(OperatorFault):
        Restored(file, tmp_path / "new")
    with pytest.raises(OperatorFault, match="no coordinator exists"):
        Database(f"sqlite:///{tmp_path / 'new/coordinator.sqlite'}", create=False)


def test_a_flipped_byte_in_a_package_is_found(kitchen: IntegrationHarness, tmp_path: Path) -> None:
    file = backed_up(kitchen, tmp_path)
    data = bytearray(file.read_bytes())
    data[700] ^= 1  # in the first package_table, behind its head
    file.write_bytes(data)
    with pytest.raises(OperatorFault, match="damaged"):
        verify(file, lambda: kitchen.store)


def test_packages_by_reference_are_looked_for(kitchen: IntegrationHarness, tmp_path: Path) -> None:
    file = backed_up(kitchen, tmp_path, copies=False)
    assert not verify(file, lambda: kitchen.store).packages_copied
    with pytest.raises(OperatorFault, match="4 packages are missing"):
        Restored(file, tmp_path / "new")


# --- what hosts must not be told twice ---------------------------------------------------------------


def test_a_restore_ends_old_leases_and_sessions(database: Database, tmp_path: Path) -> None:
    stage = CoordinatorHarness(database, tmp_path, TREE)
    bread = stage.site("http://bread.example", "198.51.100.1", lima=10.0)
    stage.join("lima")
    stage.submit(f"{bread}/")
    stage.play()
    assert stage.owner(bread) == "lima"
    with database.begin() as connection:
        token = sessions.create_link(connection, NOW)
        assert sessions.use_link(connection, token, NOW)
        sessions.begin_session(connection, NOW)
        api_tokens.create_token(connection, "importer", [TokenScope.SUBMIT], None, NOW)
    backup = Backup(database, stage.store, tmp_path, "packages", "")
    backup.make(tmp_path / "b.tar", stage.now_s)
    before = stage.row(bread).epoch
    with database.read() as connection:
        last_order = connection.execute(select(func.max(order_table.c.number))).scalar_one()
    restored = Restored(tmp_path / "b.tar", tmp_path / "new")
    with restored.database.read() as connection:
        row = sites.site_named(connection, bread)
        assert row is not None
        assert (row.crawler, row.state) == (None, "waiting")
        assert row.epoch > before + 1000
        host = hosts.host_named(connection, "lima")
        assert host is not None
        assert host.epoch > 1000
        assert connection.execute(select(admin_session_table)).all() == []
        numbers = connection.execute(select(func.max(order_table.c.number))).scalar_one()
        assert numbers > last_order + 1000
        assert api_tokens.listed_tokens(connection) == [], "one revoked since would be valid again"
    again = CoordinatorHarness(restored.database, restored.folder, TREE)
    again.names.update(stage.names)
    again.now_s, again.round_trips_ms = stage.now_s, stage.round_trips_ms
    again.said, again.crawls, again.epochs = stage.said, stage.crawls, stage.epochs
    again.report("lima")
    assert again.crawls["lima"] == {}, "it let go of what it was given before"
    again.play()
    assert again.owner(bread) == "lima", "and has it again, without joining again"
    restored.database.close()


def test_a_hand_over_that_was_taken_meanwhile_is_left_out(
    kitchen: IntegrationHarness, tmp_path: Path
) -> None:
    with kitchen.database.begin() as connection:
        sites.add_links(connection, [], NOW)
        connection.execute(
            site_table.insert().values(name="https://x.example", found_s=NOW, state="waiting", epoch=3)
        )
        connection.execute(
            handover_table.insert().values(
                site="https://x.example", epoch=2, digest="0" * 64, saved_s=NOW
            )
        )
    file = backed_up(kitchen, tmp_path)
    restored = Restored(file, tmp_path / "new")
    with restored.database.begin() as connection:
        assert handovers.on_state_taken(connection, "https://x.example", SiteEpoch(GAP * 2)) is None
    restored.database.close()


# --- commands -----------------------------------------------------------------------------------------


def test_the_commands_through_s3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (["--set", f"general.data_folder={tmp_path / name}"] for name in ("old", "new"))
    settings = ["--set", "coordinator.token_hours=5", "--set", 'crawler.contact="me@example.org"']
    with s3_server() as environment:
        for name, value in environment.items():
            monkeypatch.setitem(os.environ, name, value)
        assert run([*old, "coordinator", "init"]) == 0
        assert run([*old, "coordinator", "register", "lima"]) == 0
        place = f"s3://{BUCKET}/backups/monday.tar"
        assert run([*old, *settings, "coordinator", "backup", place]) == 0
        assert run([*old, "coordinator", "verify", place]) == 0
        assert run([*new, "coordinator", "restore", place]) == 0
        assert run([*new, "coordinator", "restore", place]) == 3
        assert run([*new, "coordinator", "restore", f"s3://{BUCKET}/nothing"]) == 3
    assert run([*new, "coordinator", "hosts", "--json"]) == 0
    assert '"lima"' in capsys.readouterr().out
    kept = tomllib.loads((tmp_path / "new" / SETTINGS_FILE).read_text())
    assert kept["coordinator"]["token_hours"] == 5
    assert kept["crawler"]["contact"] == "me@example.org"


# --- under load ---------------------------------------------------------------------------------------


def acknowledged(world: World) -> set[tuple[str, int, str]]:
    database = Database(world.coordinator.database)
    with database.read() as connection:
        query = select(package_table.c.crawler, package_table.c.sequence, package_table.c.digest)
        found = {(row.crawler, row.sequence, row.digest) for row in connection.execute(query)}
    database.close()
    return found


@pytest.mark.slow
def test_backups_under_load_lose_nothing_and_hosts_go_on(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'home/coordinator.sqlite'}"
    with made_up_world(tmp_path, database, sites=6, pages=12) as world:
        world.coordinator.start()
        for name in ("lima", "oslo"):
            world.join(name)
            world.start_host(name)
        world.coordinator.rows("submit", *world.roots)
        world.until(lambda: acknowledged(world), 60)
        for number in range(BACKUPS):
            before = acknowledged(world)
            world.coordinator.rows("backup", str(tmp_path / f"{number}.tar"))
            restored = Restored(tmp_path / f"{number}.tar", tmp_path / f"restored-{number}")
            with restored.database.read() as connection:
                rows = connection.execute(select(package_table)).all()
            restored.database.close()
            assert before <= {(row.crawler, row.sequence, row.digest) for row in rows}
            for row in rows:
                assert restored.store.fetch(row.digest)
                assert row.state in set(PackageState)
        world.coordinator.stop(signal.SIGKILL)
        lost = tmp_path / "home"
        lost.rename(tmp_path / "lost disk")
        (tmp_path / f"restored-{BACKUPS - 1}").rename(lost)
        world.coordinator.start()
        world.until(lambda: set(world.integrated()) == world.urls, 90)
        told = msgspec.json.decode(world.coordinator.rows("hosts", "--json"))
        assert {host["name"]: host["state"] for host in told} == {"lima": "enrolled", "oslo": "enrolled"}
        world.coordinator.stop()


def test_a_backup_writes_nothing_outside_of_its_folders(tmp_path: Path) -> None:
    for name in ("bundles/../../evil", "bundles/..", "../evil", "/etc/evil", "evil"):
        restore_module.place_file(tmp_path / "data", PurePosixPath(name), io.BytesIO(b"evil"))
    restore_module.place_file(
        tmp_path / "data", PurePosixPath("bundles/metadata/1.json"), io.BytesIO(b"{}")
    )
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["1.json"]

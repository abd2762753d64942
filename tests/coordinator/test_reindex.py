"""An index that was lost or damaged is noticed, said, and made anew from packages beside the one in use."""

from __future__ import annotations

import shutil
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ipmicra.carrier.package import digest_of, pack, unpack
from ipmicra.coordinator.assignment import release
from ipmicra.coordinator.ingest import purge
from ipmicra.coordinator.ingest.index_state import IndexCondition, IndexState, index_state
from ipmicra.coordinator.ingest.reindex import Reindexer, check_completeness
from ipmicra.coordinator.ingest.worker import IntegrationWorker
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import events, hosts
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.views.alerts import alerts
from ipmicra.model.search import SearchAnswer, SearchRequest
from ipmicra.search import rebuild
from ipmicra.search.recovery import open_or_set_aside
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import seen
from tests.coordinator.coordinator_process import running_coordinator
from tests.coordinator.ingest.ingest_harness import NOW, PAGE, IntegrationHarness


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[IntegrationHarness]:
    kitchen = IntegrationHarness(database, tmp_path)
    yield kitchen
    kitchen.index.close()


def filled(kitchen: IntegrationHarness, pages: int) -> None:
    """A package a page, integrated."""
    for number in range(1, pages + 1):
        send(kitchen, number)
    while kitchen.worker().integrate_pending(NOW):
        pass


def send(kitchen: IntegrationHarness, number: int) -> None:
    page = seen(f"https://bread.example/{number}", f"Loaf {number}", f"<p>rye number{number}</p>")
    kitchen.send(pack([page], "lima", number), number)


def pages_of(index: TantivyIndex, text: str) -> int:
    return index.search(SearchRequest(text=text, per_site=0)).total


def state(database: Database) -> IndexState:
    with database.read() as connection:
        return index_state(connection)


def reindexer(kitchen: IntegrationHarness, folder: Path, **options: object) -> Reindexer:
    return Reindexer(kitchen.database, kitchen.store, folder, lambda: NOW, **options)  # type: ignore[arg-type]


def test_a_lost_index_is_noticed_said_and_made_anew(kitchen: IntegrationHarness, tmp_path: Path) -> None:
    filled(kitchen, 3)
    shutil.rmtree(tmp_path / "index")
    check_completeness(kitchen.database, tmp_path / "index", NOW)
    assert state(kitchen.database).condition is IndexCondition.LOST
    with kitchen.database.read() as connection:
        told = [trouble for trouble in alerts(connection, NOW) if trouble.kind == "index-lost"]
    assert "0 of 3 packages" in told[0].what
    rebuilt = reindexer(kitchen, tmp_path / "index").run("it was lost")
    assert rebuilt is not None
    assert (rebuilt.packages, rebuilt.pages, rebuilt.missing) == (3, 3, [])
    check_completeness(kitchen.database, tmp_path / "index", NOW)
    assert state(kitchen.database).is_well
    with closing(TantivyIndex(tmp_path / "index")) as index:
        assert pages_of(index, "rye") == 3
    with kitchen.database.read() as connection:
        assert "index-rebuilt" in [event.kind for event in events.latest(connection, 5)]


def test_a_complete_index_is_left_alone(kitchen: IntegrationHarness, tmp_path: Path) -> None:
    filled(kitchen, 2)
    check_completeness(kitchen.database, tmp_path / "index", NOW)
    assert state(kitchen.database).is_well


def test_what_is_integrated_meanwhile_is_in_the_new_one_and_readers_see_it(
    kitchen: IntegrationHarness, tmp_path: Path
) -> None:
    filled(kitchen, 20)
    reader = TantivyIndex(tmp_path / "index")

    def advance(done: int, _: int) -> None:
        assert pages_of(reader, "rye") >= 20, "the old one answers until the end"
        if done == 3:
            send(kitchen, 21)
            assert kitchen.worker().integrate_pending(NOW) == 1

    assert reindexer(kitchen, tmp_path / "index", advance=advance).run("asked for") is not None
    with closing(reader):
        reader.reload()
        assert pages_of(reader, "number21") == 1
        assert pages_of(reader, "rye") == 21
        page = seen("https://bread.example/22", "Loaf 22", "<p>rye number22</p>")
        data = pack([page], "lima", 22)
        with closing(TantivyIndex(tmp_path / "index", writable=True)) as writer:
            writer.integrate(unpack(data), digest_of(data))
            writer.commit()
        reader.reload()
        hits = reader.search(SearchRequest(text="number22")).hits
        assert [hit.url for hit in hits] == [page.url], "the old catalogue knows nothing of it"
    assert not rebuild.building_folder(tmp_path / "index").exists()


def test_a_stopped_one_leaves_the_index_in_use(kitchen: IntegrationHarness, tmp_path: Path) -> None:
    filled(kitchen, 3)
    steps = iter([False, True])
    assert reindexer(kitchen, tmp_path / "index", should_stop=lambda: next(steps)).run("x") is None
    with closing(TantivyIndex(tmp_path / "index")) as index:
        assert pages_of(index, "rye") == 3


def test_purged_crawlers_stay_out(kitchen: IntegrationHarness, tmp_path: Path) -> None:
    filled(kitchen, 2)
    with kitchen.database.begin() as connection:
        purge.request_purge(connection, "lima", "it lied", NOW)
    kitchen.worker().integrate_pending(NOW)
    rebuilt = reindexer(kitchen, tmp_path / "index").run("x")
    assert rebuilt is not None
    assert rebuilt.pages == 0


def test_pages_of_a_lease_that_has_ended_stay_and_foreign_ones_stay_out(
    kitchen: IntegrationHarness, tmp_path: Path
) -> None:
    foreign = seen("https://bank.example/", "Bank", "<p>forged</p>")
    kitchen.send(pack([PAGE, foreign], "lima", 1))
    kitchen.worker().integrate_pending(NOW)
    with kitchen.database.begin() as connection:
        hosts.renew_lease(connection, "lima", NOW, 60)
        assert hosts.expire_leases(connection, NOW + 61) == ["lima"]
        release.release_all(connection, "lima")
    assert reindexer(kitchen, tmp_path / "index").run("x") is not None
    with closing(TantivyIndex(tmp_path / "index")) as index:
        assert (pages_of(index, "rye"), pages_of(index, "forged")) == (1, 0)


def test_a_package_whose_bytes_are_lost_is_named_and_not_waited_for(
    kitchen: IntegrationHarness, tmp_path: Path
) -> None:
    filled(kitchen, 2)
    data = pack([PAGE], "lima", 3)
    kitchen.send(data, 3)
    kitchen.worker().integrate_pending(NOW)
    kitchen.store.discard(digest_of(data))
    rebuilt = reindexer(kitchen, tmp_path / "index").run("x")
    assert rebuilt is not None
    assert rebuilt.pages == 2
    assert "missing" in rebuilt.missing[0]
    check_completeness(kitchen.database, tmp_path / "index", NOW)
    assert state(kitchen.database).is_well, "it would be made anew at every start"
    assert kitchen.states() == {PackageState.INTEGRATED: 2, PackageState.REFUSED: 1}


# --- deaths ------------------------------------------------------------------------------------------


def test_a_death_between_the_two_renames_leaves_the_new_index(tmp_path: Path) -> None:
    place, new = tmp_path / "index", rebuild.building_folder(tmp_path / "index")
    TantivyIndex(place).close()
    TantivyIndex(new).close()
    (new / "of the new").touch()
    (new / "complete").touch()
    place.rename(tmp_path / "index.old")
    rebuild.finish_swap(place)
    assert (place / "of the new").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "index.lock"]


def test_a_death_while_it_was_made_leaves_the_old_index(tmp_path: Path) -> None:
    place = tmp_path / "index"
    TantivyIndex(place).close()
    (place / "of the old").touch()
    rebuild.building_folder(place).mkdir()
    rebuild.finish_swap(place)
    assert (place / "of the old").exists()


def test_a_writer_waits_for_the_swap(tmp_path: Path) -> None:
    place, entered = tmp_path / "index", threading.Event()

    def write() -> None:
        with rebuild.writing(place):
            entered.set()

    with rebuild.writing(place):
        thread = threading.Thread(target=write)
        thread.start()
        assert not entered.wait(0.2)
    thread.join()
    assert entered.is_set()


# --- damage -------------------------------------------------------------------------------------------


def wrong_meta(index: Path) -> None:
    (index / "engine-2/meta.json").write_text("{ no json")


def lost_segments(index: Path) -> None:
    for file in (index / "engine-2").iterdir():
        if file.suffix in {".idx", ".term", ".store"}:
            file.unlink()


def wrong_catalogue(index: Path) -> None:
    (index / "ledger.sqlite").write_bytes(b"no database at all " * 1000)


def half_copied(index: Path) -> None:
    """A copy of the folder that ended in the middle of a file."""
    names = sorted(path for path in (index / "engine-2").iterdir() if path.suffix)
    last, *rest = names[len(names) // 2 :]
    last.write_bytes(last.read_bytes()[: last.stat().st_size // 2])
    for path in rest:
        path.unlink()


def truncated_catalogue(index: Path) -> None:
    whole = (index / "ledger.sqlite").read_bytes()
    (index / "ledger.sqlite").write_bytes(whole[: len(whole) // 2])


def a_file_instead(index: Path) -> None:
    shutil.rmtree(index)
    index.write_bytes(b"what is this")


DAMAGES = [wrong_meta, lost_segments, wrong_catalogue, truncated_catalogue, a_file_instead]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_set_aside(damage: object, tmp_path: Path) -> None:
    kitchen = IntegrationHarness(Database(f"sqlite:///{tmp_path / 'rows.sqlite'}"), tmp_path)
    filled(kitchen, 2)
    kitchen.index.close()
    kitchen.database.close()
    assert callable(damage)
    damage(tmp_path / "index")
    assert open_or_set_aside(tmp_path / "index") is not None
    assert open_or_set_aside(tmp_path / "index") is None
    assert len(list(tmp_path.glob("index.damaged-*"))) == 1


def test_an_index_that_breaks_while_it_is_written_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ipmicra.coordinator.ingest.worker.AFTER_FAILURE_SECONDS", 0.01)
    kitchen = IntegrationHarness(Database(f"sqlite:///{tmp_path / 'rows.sqlite'}"), tmp_path)
    filled(kitchen, 2)
    kitchen.index.close()
    wrong_catalogue(tmp_path / "index")
    send(kitchen, 3)
    stop = threading.Event()

    def stop_at_three() -> float:
        if kitchen.states() == {"integrated": 3} and state(kitchen.database).is_well:
            stop.set()
        return time.time()

    worker = IntegrationWorker(
        kitchen.database, kitchen.store, tmp_path / "index", "w", CoordinatorSettings(), stop_at_three
    )
    worker.run(stop)
    with closing(TantivyIndex(tmp_path / "index")) as index:
        assert pages_of(index, "rye") == 3
    kitchen.database.close()


@pytest.mark.slow
def test_a_coordinator_starts_over_a_damaged_index_says_so_and_heals(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'coordinator.sqlite'}"
    kitchen = IntegrationHarness(Database(database), tmp_path)
    filled(kitchen, 3)
    kitchen.index.close()
    kitchen.database.close()
    wrong_meta(tmp_path / "index")
    with running_coordinator(tmp_path, database, {"coordinator.rebuilds_index": "false"}) as running:
        ready = fetched(running.address, "/ready")
        assert ready.startswith(b"ready, but the index is damaged")
        assert b"index-damaged" in fetched(running.address, "/v1/errors")
        assert found(running.address) == 0
        told = msgspec.json.decode(running.rows("reindex", "--json"))
        assert (told["packages"], told["pages"]) == (3, 3)
        wait_until(lambda: found(running.address) == 3)
        assert fetched(running.address, "/ready") == b"ready\n"
        running.stop()
    for damage in (shutil.rmtree, half_copied):
        damage(tmp_path / "index")
        with running_coordinator(tmp_path, database) as running:
            wait_until(lambda: found(running.address) == 3)
            running.stop()


def fetched(address: str, path: str) -> bytes:
    with urllib.request.urlopen(address + path, timeout=10) as answer:
        body: bytes = answer.read()
        return body


def found(address: str) -> int:
    return msgspec.json.decode(fetched(address, "/api/search?q=rye"), type=SearchAnswer).total


def wait_until(is_true: object) -> None:
    assert callable(is_true)
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)

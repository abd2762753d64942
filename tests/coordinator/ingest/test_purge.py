"""A crawler that lied is taken out of the index with one command, and stays out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from ipmicra.carrier.package import digest_of, pack
from ipmicra.cli.main import program
from ipmicra.coordinator.ingest import purge as ingest_purge
from ipmicra.coordinator.store import assignments, events, hosts, packages
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.errors import OperatorFault
from ipmicra.model.ids import LeaseEpoch
from ipmicra.model.search import SearchRequest
from ipmicra.testing.page_records import seen
from tests.coordinator.ingest.ingest_harness import NOW, PAGE, IntegrationHarness

OTHERS = seen("https://bread.example/rolls", "Rolls", '<p>wheat</p><a href="/">bread</a>')
AGAIN = msgspec.structs.replace(PAGE, fetched_at_ms=1)  # older than what the liar said of the time


@pytest.fixture
def kitchen(database: Database, tmp_path: Path) -> Iterator[IntegrationHarness]:
    kitchen = IntegrationHarness(database, tmp_path)
    with database.begin() as connection:
        hosts.register(connection, "oslo", "another", NOW, 60)
        hosts.enrol(connection, "another", bytes([1] * 32), "198.51.100.1", NOW)
    yield kitchen
    kitchen.index.close()


def found(kitchen: IntegrationHarness, text: str) -> list[str]:
    return [hit.url for hit in kitchen.index.search(SearchRequest(text=text)).hits]


def owned_by(kitchen: IntegrationHarness, crawler: str) -> None:
    with kitchen.database.begin() as connection:
        assignments.record_assignments(connection, [("https://bread.example", crawler)], NOW)


def purge(kitchen: IntegrationHarness, crawler: str) -> int:
    with kitchen.database.begin() as connection:
        return ingest_purge.request_purge(connection, crawler, "it lied", NOW)


def test_others_write_while_pages_are_purged(
    kitchen: IntegrationHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen.send(pack([PAGE], "lima", 1))
    kitchen.worker().integrate_pending(NOW)
    purge(kitchen, "lima")
    index_purge = kitchen.index.purge

    def purge_and_write(crawler: str) -> int:
        with kitchen.database.begin() as connection:  # would wait for the purge's transaction
            events.record(connection, events.EventKind.HOST_PAUSE, "oslo", "meanwhile", NOW)
        return index_purge(crawler)

    monkeypatch.setattr(kitchen.index, "purge", purge_and_write)
    monkeypatch.setattr(ingest_purge, "PACKAGES_AT_ONCE", 1)
    kitchen.worker().integrate_pending(NOW)
    assert found(kitchen, "rye") == []
    assert kitchen.states() == {"refused": 1}


def test_all_a_crawler_brought_leaves_the_index_and_nothing_else(kitchen: IntegrationHarness) -> None:
    kitchen.send(pack([PAGE], "lima", 1))
    owned_by(kitchen, "oslo")
    brought(kitchen, "oslo", pack([OTHERS], "oslo", 1), 1)
    kitchen.worker().integrate_pending(NOW)
    assert (found(kitchen, "rye"), found(kitchen, "wheat")) == ([PAGE.url], [OTHERS.url])
    kitchen.send(pack([OTHERS], "lima", 2), 2)
    assert purge(kitchen, "lima") == 1, "what waited is refused"
    kitchen.worker().integrate_pending(NOW)
    assert (found(kitchen, "rye"), found(kitchen, "wheat")) == ([], [OTHERS.url])
    with kitchen.database.read() as connection:
        host = hosts.host_named(connection, "lima")
        assert host is not None
        assert host.state == hosts.HostState.REVOKED
        assert ingest_purge.pending_purges(connection) == []
        told = {(event.kind, event.subject, event.detail) for event in events.latest(connection, 20)}
    assert ("purged", "lima", "1 pages were taken out of the index") in told


def test_another_crawlers_page_is_taken_in_whatever_the_liar_said_of_the_time(
    kitchen: IntegrationHarness,
) -> None:
    kitchen.send(pack([PAGE], "lima", 1))
    kitchen.worker().integrate_pending(NOW)
    purge(kitchen, "lima")
    kitchen.worker().integrate_pending(NOW)
    owned_by(kitchen, "oslo")
    brought(kitchen, "oslo", pack([AGAIN], "oslo", 1), 1)
    kitchen.worker().integrate_pending(NOW)
    assert found(kitchen, "rye") == [PAGE.url]


def test_a_purge_that_was_interrupted_is_carried_out_again(kitchen: IntegrationHarness) -> None:
    kitchen.send(pack([PAGE], "lima", 1))
    kitchen.worker().integrate_pending(NOW)
    purge(kitchen, "lima")
    assert kitchen.index.purge("lima") == 1  # and then the process died
    kitchen.worker().integrate_pending(NOW)
    assert found(kitchen, "rye") == []
    with kitchen.database.read() as connection:
        assert ingest_purge.pending_purges(connection) == []


def test_whom_nobody_knows_cannot_be_purged(kitchen: IntegrationHarness) -> None:
    with pytest.raises(OperatorFault, match="there is no crawler 'nobody'"):
        purge(kitchen, "nobody")


def brought(kitchen: IntegrationHarness, crawler: str, data: bytes, sequence: int) -> None:
    arrival = PackageArrival(crawler, sequence, digest_of(data), LeaseEpoch(0), data)
    assert packages.receive(kitchen.database, kitchen.store, arrival, NOW)


def purge_command(database_address: str, *words: str, typed: str = "") -> Result:
    line = ["coordinator", "purge", *words, "--database", database_address]
    return CliRunner().invoke(program, line, input=typed)


def test_the_command_asks_before_it_purges_and_says_what_it_did(
    kitchen: IntegrationHarness, database_address: str
) -> None:
    kitchen.send(pack([PAGE], "lima", 1))
    kitchen.worker().integrate_pending(NOW)
    kitchen.send(pack([OTHERS], "lima", 2), 2)
    assert purge_command(database_address, "lima", typed="n\n").exit_code != 0
    kitchen.worker().integrate_pending(NOW)
    assert found(kitchen, "wheat") == [OTHERS.url], "nobody was purged"
    told = purge_command(database_address, "lima", "--why", "it lied", typed="y\n")
    assert (told.exit_code, "lima is revoked; 0 waiting packages" in told.stderr) == (0, True)
    kitchen.worker().integrate_pending(NOW)
    assert kitchen.index.page_count() == 0


def test_the_command_says_whose_fault_it_is(kitchen: IntegrationHarness, database_address: str) -> None:
    told = purge_command(database_address, "nobody", "--yes")
    assert isinstance(told.exception, OperatorFault)

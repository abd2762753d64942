"""The coordinator's state, on SQLite and on PostgreSQL: schema, leadership, hosts, orders."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select, update

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.store import assignments, hosts, orders, sites
from ipmicra.coordinator.store.hosts import HostRefused, HostState
from ipmicra.coordinator.store.leader_lease import acquire_or_renew, resign
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.migrations import migrate
from ipmicra.coordinator.store.sql.schema import (
    SCHEMA_VERSION,
    grant_table,
    handover_table,
    link_table,
    passive_table,
    schema_version_table,
    site_table,
)
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.model.ids import LeaseEpoch
from ipmicra.protocol.host_messages import OrderDone, Pause, ProbeTarget, ProbeTargets, Resume
from ipmicra.protocol.signing import RequestSignature, signature_in, signed_headers

NOW = 1_800_000_000.0


# --- the schema -----------------------------------------------------------------------------------


def test_a_database_opens_twice(database_address: str) -> None:
    first = Database(database_address)
    enrolled(first)
    first.close()
    second = Database(database_address)
    with second.read() as connection:
        assert [host.name for host in hosts.all_hosts(connection)] == ["lima"], "as it was left"
        assert connection.execute(select(schema_version_table.c.version)).scalars().all() == [
            SCHEMA_VERSION
        ]
    second.close()


def test_a_newer_schema_is_refused_by_an_older_program(database_address: str) -> None:
    database = Database(database_address)
    with database.begin() as connection:
        connection.execute(update(schema_version_table).values(version=SCHEMA_VERSION + 1))
    database.close()
    with pytest.raises(OperatorFault, match="written by a newer ipmicra"):
        Database(database_address)


@pytest.mark.parametrize("address", ["nonsense", "mysql://x/y"])
def test_an_address_of_no_database_is_the_operators_fault(address: str) -> None:
    with pytest.raises(OperatorFault):
        Database(address)


def test_a_database_that_cannot_be_opened_is_the_hosts_fault() -> None:
    with pytest.raises(HostFault, match="opening the database"):
        Database("sqlite:////no/such/folder/x.sqlite")


# --- leadership -----------------------------------------------------------------------------------


def test_a_lease_has_one_holder_at_a_time(database: Database) -> None:
    with database.begin() as c:
        first = acquire_or_renew(c, "delegation", "a", NOW, 10)
        assert first is not None
        assert acquire_or_renew(c, "delegation", "b", NOW + 5, 10) is None
        kept = acquire_or_renew(c, "delegation", "a", NOW + 5, 10)
        assert kept is not None
        assert kept.epoch == first.epoch
        second = acquire_or_renew(c, "delegation", "b", NOW + 20, 10)
        assert second is not None
        assert second.epoch == first.epoch + 1
        resign(c, first)  # too late: it changes nothing
        assert acquire_or_renew(c, "delegation", "a", NOW + 20, 10) is None
        resign(c, second)
        third = acquire_or_renew(c, "delegation", "a", NOW + 21, 10)
        assert third is not None
        assert third.epoch == second.epoch + 1


def test_a_lease_taken_by_a_clock_that_was_hours_ahead_is_free(database: Database) -> None:
    with database.begin() as c:
        ahead = acquire_or_renew(c, "delegation", "a", NOW + 7200, 15)
        assert ahead is not None
        right = acquire_or_renew(c, "delegation", "b", NOW, 15)
        assert right is not None
        assert right.epoch > ahead.epoch
        assert acquire_or_renew(c, "delegation", "a", NOW + 1, 15) is None


def test_of_many_that_want_the_lease_one_gets_it(database: Database) -> None:
    elected: list[str] = []

    def run_for_office(name: str) -> None:
        with database.begin() as c:
            if acquire_or_renew(c, "delegation", name, NOW, 10):
                elected.append(name)

    threads = [threading.Thread(target=run_for_office, args=(f"r{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(elected) == 1


# --- hosts ----------------------------------------------------------------------------------------


KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
PATH = "/v1/host/heartbeat?x=1"


def enrolled(database: Database, name: str = "lima") -> None:
    with database.begin() as c:
        hosts.register(c, name, f"token-of-{name}", NOW, 3600, "owner@example.org")
        hosts.enrol(c, f"token-of-{name}", PUBLIC if name == "lima" else bytes(32), "192.0.2.1", NOW)


def claim(
    sequence: int = 1, time_ms: float = NOW * 1000, body: bytes = b"hello", host: str = "lima"
) -> RequestSignature:
    unsigned = RequestSignature(host, "reports", int(time_ms), sequence, b"")
    found = signature_in(signed_headers(KEY, "POST", PATH, body, unsigned))
    assert found is not None
    return found


def admitted(
    database: Database, a_claim: RequestSignature, body: bytes = b"hello", path: str = PATH
) -> str:
    """The host's name, or the kind of refusal."""
    try:
        with database.begin() as c:
            return hosts.authenticate(c, a_claim, "POST", path, digest_of(body), NOW).name
    except HostRefused as refused:
        return refused.refusal.kind


def test_a_join_token_works_once(database: Database) -> None:
    enrolled(database)
    with database.begin() as c, pytest.raises(HostRefused, match="already used"):
        hosts.enrol(c, "token-of-lima", bytes(32), "192.0.2.2", NOW)


def test_a_join_token_grows_old(database: Database) -> None:
    with database.begin() as c:
        hosts.register(c, "lima", "token", NOW, 3600)
        with pytest.raises(HostRefused):
            hosts.enrol(c, "token", PUBLIC, "192.0.2.1", NOW + 3601)


def test_a_name_is_registered_once(database: Database) -> None:
    enrolled(database)
    with database.begin() as c, pytest.raises(OperatorFault, match="already"):
        hosts.register(c, "lima", "other", NOW, 3600)


def test_an_honest_request_is_heard_and_a_replay_is_not(database: Database) -> None:
    enrolled(database)
    assert admitted(database, claim(5)) == "lima"
    assert admitted(database, claim(5)) == "sequence"
    assert admitted(database, claim(4)) == "sequence"
    assert admitted(database, claim(6)) == "lima"


SPOILED: list[tuple[str, Callable[[], tuple[RequestSignature, bytes, str]], str]] = [
    ("an altered body", lambda: (claim(), b"altered", PATH), "signature"),
    ("an altered path", lambda: (claim(), b"hello", PATH + "0"), "signature"),
    ("an altered host", lambda: (claim()._replace(host="oslo"), b"hello", PATH), "signature"),
    ("another sequence", lambda: (claim()._replace(sequence=9), b"hello", PATH), "signature"),
    ("another time", lambda: (claim()._replace(time_ms=1), b"hello", PATH), "signature"),
    ("another channel", lambda: (claim()._replace(channel="orders"), b"hello", PATH), "signature"),
    ("a wrong clock", lambda: (claim(time_ms=(NOW + 900) * 1000), b"hello", PATH), "clock"),
    ("an unknown host", lambda: (claim(host="nobody"), b"hello", PATH), "unknown-host"),
    ("a foreign host's name", lambda: (claim(host="oslo"), b"hello", PATH), "signature"),
]


@pytest.mark.parametrize(("what", "request_", "kind"), SPOILED, ids=[row[0] for row in SPOILED])
def test_a_spoiled_request_is_refused(
    database: Database, what: str, request_: Callable[[], tuple[RequestSignature, bytes, str]], kind: str
) -> None:
    enrolled(database)
    enrolled(database, "oslo")
    a_claim, body, path = request_()
    assert admitted(database, a_claim, body, path) == kind


def test_a_refused_request_uses_up_no_sequence(database: Database) -> None:
    enrolled(database)
    assert admitted(database, claim(7), b"altered") == "signature"
    assert admitted(database, claim(7)) == "lima"


def test_a_revoked_host_is_not_heard_again(database: Database) -> None:
    enrolled(database)
    with database.begin() as c:
        hosts.end_host(c, "lima", HostState.REVOKED)
    assert admitted(database, claim(1)) == "not-enrolled"


def test_a_silent_host_loses_its_lease_and_its_epoch(database: Database) -> None:
    enrolled(database)
    with database.begin() as c:
        epoch = hosts.renew_lease(c, "lima", NOW, 60)
        assert hosts.expire_leases(c, NOW + 59) == []
        assert hosts.expire_leases(c, NOW + 61) == ["lima"]
        assert hosts.expire_leases(c, NOW + 62) == []
        assert hosts.renew_lease(c, "lima", NOW + 63, 60) == epoch + 1


# --- orders ---------------------------------------------------------------------------------------


def test_an_order_is_offered_until_it_is_done_and_closed_once(database: Database) -> None:
    enrolled(database)
    body = ProbeTargets(targets=(ProbeTarget(site="https://a.example", address="192.0.2.9"),))
    with database.begin() as c:
        number = orders.give(c, "lima", body, "a.example", NOW)
        assert orders.give(c, "lima", body, "a.example", NOW) == number
        assert [o.number for o in orders.open_orders(c, "lima", NOW)] == [number]
        assert [o.body for o in orders.open_orders(c, "lima", NOW)] == [body]
        assert orders.close(c, "lima", OrderDone(number=number), NOW) == body
        assert orders.close(c, "lima", OrderDone(number=number), NOW) is None
        assert orders.counts(c, "lima") == {}
        assert orders.give(c, "lima", body, "a.example", NOW) != number


def test_orders_come_in_the_order_they_were_given(database: Database) -> None:
    enrolled(database)
    with database.begin() as c:
        given = [orders.give(c, "lima", Pause(), "", NOW), orders.give(c, "lima", Resume(), "", NOW)]
        assert [o.number for o in orders.open_orders(c, "lima", NOW)] == given
        assert orders.counts(c) == {"pause": 1, "resume": 1}
        assert orders.cancel_all(c, "lima", NOW) == 2


def test_nobody_closes_anothers_order(database: Database) -> None:
    enrolled(database)
    enrolled(database, "oslo")
    with database.begin() as c:
        number = orders.give(c, "lima", Pause(), "", NOW)
        assert orders.close(c, "oslo", OrderDone(number=number), NOW) is None
        assert orders.counts(c, "lima") == {"pause": 1}


# --- migrations -----------------------------------------------------------------------------------


def test_sites_of_an_earlier_version_are_queued_by_when_they_were_found(database: Database) -> None:
    with database.begin() as connection:
        for name in ("site_queue", "site_unsent"):
            connection.exec_driver_sql(f"DROP INDEX {name}")
        for name in ("queued_s", "unsent_s"):
            connection.exec_driver_sql(f"ALTER TABLE site DROP COLUMN {name}")
        for name, found_s in (("b", 20.0), ("a", 10.0)):
            connection.exec_driver_sql(
                "INSERT INTO site (name, address, ground, epoch, found_s, state, note) "
                f"VALUES ('https://{name}.example', '', '', 0, {found_s}, 'waiting', '')"
            )
        link = {"url": "https://a.example/", "site": "https://a.example", "found_s": 10.0}
        connection.execute(link_table.insert().values(link))
        migrate(connection, 7)
        rows = sites.pending_assignment(connection, NOW, 60, 10)
        unsent = select(site_table.c.name).where(site_table.c.unsent_s.is_not(None))
        assert [row.name for row in rows] == ["https://a.example", "https://b.example"]
        assert connection.execute(unsent).scalars().all() == ["https://a.example"]


def test_an_older_schema_is_brought_up_to_date(database_address: str) -> None:
    database = Database(database_address)
    with database.begin() as connection:
        connection.execute(update(schema_version_table).values(version=1))
        for table in (passive_table, handover_table, grant_table):
            table.drop(connection)
    enrolled(database)
    with database.begin() as connection:
        connection.execute(
            site_table.insert().values(
                name="https://a.example", crawler="lima", found_s=1, state="delegated"
            )
        )
    database.close()
    database = Database(database_address)
    with database.begin() as connection:
        assert connection.execute(select(schema_version_table.c.version)).scalar() == SCHEMA_VERSION
        assert (
            connection.execute(select(passive_table)).all()
            == connection.execute(select(handover_table)).all()
            == []
        )
        assert hosts.host_named(connection, "lima") is not None
        assert (
            assignments.unassigned_sites(connection, "lima", LeaseEpoch(0), ["https://a.example"])
            == set()
        )
    database.close()


def test_a_signature_holds_for_its_method(database: Database) -> None:
    enrolled(database)
    with database.begin() as c, pytest.raises(HostRefused, match="does not match"):
        hosts.authenticate(c, claim(), "PUT", PATH, digest_of(b"hello"), NOW)

"""A flood of sites whose name servers are silent, against a coordinator as a process."""

from __future__ import annotations

import asyncio
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import msgspec
import pytest
from sqlalchemy import select

from ipmicra.addresses import IPAddress, address_of
from ipmicra.carrier.package import pack
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import leader_table
from ipmicra.lab.loopback.names import answer_to
from ipmicra.model.page import Link
from ipmicra.model.records import PageSeen
from ipmicra.protocol.host_messages import AssignSites, ProbeTargets
from ipmicra.testing.page_records import seen
from tests.coordinator.coordinator_process import free_port, running_coordinator
from tests.coordinator.played_orders import next_order

LINKS = 200_000
LINKS_PER_PAGE = 40_000
HONEST_ADDRESS = address_of(4, 0x7F4D0009)


class SilentNames(asyncio.DatagramProtocol):
    """A name server that knows one name, and never answers about any other."""

    def __init__(self) -> None:
        self.asked: set[bytes] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        self.asked.add(data[12:])
        if b"\x06honest" in data:
            reply = answer_to(data, self._addresses)
            assert reply is not None
            self._transport.sendto(reply, address)

    def _addresses(self, _: str) -> tuple[IPAddress, ...]:
        return (HONEST_ADDRESS,)


@contextmanager
def silent_name_server(port: int) -> Iterator[SilentNames]:
    loop = asyncio.new_event_loop()
    transport, names = loop.run_until_complete(
        loop.create_datagram_endpoint(SilentNames, local_addr=("127.0.0.1", port))
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield names
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        transport.close()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def flood(site: str) -> list[PageSeen]:
    """Pages with links to so many sites."""
    return [_flood_page(f"{site}/{number}", number) for number in range(LINKS // LINKS_PER_PAGE)]


def _flood_page(url: str, number: int) -> PageSeen:
    record = seen(url, "Flood", "links")
    names = (f"s{number}-{at}.silent.example" for at in range(LINKS_PER_PAGE))
    links = tuple(Link(f"https://{name}/", "x", "") for name in names)
    return msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, links=links))


@pytest.mark.slow
def test_an_honest_site_is_delegated_while_a_flood_of_silent_names_waits(tmp_path: Path) -> None:
    port = free_port()
    settings = {
        "fetching.open_ranges": '["127.0.0.0/8"]',
        "fetching.dns_servers": f'["127.0.0.1:{port}"]',
        "coordinator.strategy": "ipmicra@50",
        "coordinator.leader_seconds": "5",
    }
    database = f"sqlite:///{tmp_path / 'rows.sqlite'}"
    with (
        silent_name_server(port) as names,
        running_coordinator(tmp_path, database, settings) as coordinator,
    ):
        lima = coordinator.registered("lima")
        linker = "http://127.77.0.1:8080"
        coordinator.rows("submit", f"{linker}/")
        probe = next_order(lima, ProbeTargets, linker)
        lima.answer_probe(probe.number, linker, "127.77.0.1", 10.0)
        next_order(lima, AssignSites, linker)
        term = leader_terms(database)
        assert lima.send_package(1, pack(flood(linker), "lima", 1)).status == 200
        end = time.monotonic() + 120
        while len(names.asked) < 500 and time.monotonic() < end:
            time.sleep(0.05)
        assert len(names.asked) >= 500, "the flood is being looked up"
        honest = "http://honest.example"
        coordinator.rows("submit", f"{honest}/")
        begun = time.monotonic()
        next_order(lima, ProbeTargets, honest)
        assert time.monotonic() - begun < 60
        assert leader_terms(database) == term, "the leader kept its lease"
        with urllib.request.urlopen(f"{coordinator.address}/v1/errors", timeout=30) as errors:
            assert b"links-dropped" in errors.read()


def leader_terms(address: str) -> list[tuple[str, int]]:
    database = Database(address)
    try:
        with database.read() as connection:
            rows = connection.execute(select(leader_table.c.holder, leader_table.c.epoch))
            return [(holder, epoch) for holder, epoch in rows]
    finally:
        database.close()

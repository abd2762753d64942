"""The generated web on loopback: always the same pages, real HTTP, delays by who asks, names by DNS."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import time
from ipaddress import IPv4Address, IPv6Address

from hypothesis import given
from hypothesis import strategies as st

from ipmicra.lab.loopback.layout import (
    WebLayout,
    city_of,
    crawler_address,
    round_trip_ms,
    site_address,
)
from ipmicra.lab.loopback.names import answer_to
from ipmicra.lab.loopback.pages import CITIES, made_sites
from ipmicra.lab.loopback.server import LoopbackWeb
from ipmicra.net.dns_resolver import DnsAnswer, DnsResolver


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_the_same_seed_makes_the_same_web_and_another_one_another() -> None:
    assert made_sites(1, 5, 10) == made_sites(1, 5, 10)
    assert made_sites(1, 5, 10) != made_sites(2, 5, 10)


def test_every_page_of_a_site_is_linked_from_its_front_page() -> None:
    [site, *_] = made_sites(3, 4, 30)
    reached, waiting = set[str](), ["/"]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        waiting += re.findall(r'href="(/[^"]*)"', site.pages[path].html)
    assert reached == set(site.pages)


def test_addresses_lie_in_their_citys_block() -> None:
    for city in CITIES:
        assert city_of(site_address(city, 7)) == city
        assert city_of(crawler_address(city)) == city
    assert city_of(IPv4Address("127.0.0.1")) is None
    assert round_trip_ms("Oslo", "Krakow") < round_trip_ms("Oslo", "Auckland")


def test_a_page_is_served_after_the_delay_of_who_asks() -> None:
    layout = WebLayout.of(made_sites(1, 2, 5))
    [(address, site), *_] = layout.sites.items()
    port = free_port()
    delay_ms = {"127.0.0.2": 60.0}
    web = LoopbackWeb(layout.sites, port, lambda asker, _: delay_ms.get(str(asker), 0.0))

    async def asked(source: str) -> tuple[bytes, float]:
        reader, writer = await asyncio.open_connection(str(address), port, local_addr=(source, 0))
        began = time.monotonic()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        took_ms = (time.monotonic() - began) * 1000
        writer.close()
        await writer.wait_closed()
        return head, took_ms

    async def play() -> tuple[tuple[bytes, float], tuple[bytes, float]]:
        async with web:
            return await asked("127.0.0.2"), await asked("127.0.0.3")

    (head, far_ms), (_, near_ms) = asyncio.run(play())
    assert head.startswith(b"HTTP/1.1 200")
    assert far_ms >= 120  # a handshake's and a request's round trip
    assert near_ms < far_ms
    assert [(line.site, line.path, line.status) for line in web.log] == [(site.name, "/", 200)] * 2


def test_a_name_is_looked_up_over_a_real_socket() -> None:
    layout = WebLayout.of(made_sites(1, 2, 2))
    [(address, site), *_] = layout.sites.items()
    names_port = free_port()

    async def play() -> DnsAnswer:
        async with LoopbackWeb(layout.sites, free_port(), names_port=names_port):
            resolver = DnsResolver([f"127.0.0.1:{names_port}"])
            try:
                return await resolver.resolve(site.name)
            finally:
                await resolver.close()

    assert asyncio.run(play()).addresses == (address,)


def question(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">HH", kind, 1)


def test_names_are_answered() -> None:
    table = {"a.example": (IPv4Address("127.16.0.1"), IPv6Address("2600::1"))}.get
    reply = answer_to(question("A.example"), table)
    assert reply is not None
    assert reply.endswith(bytes([127, 16, 0, 1]))
    unknown = answer_to(question("b.example"), table)
    assert unknown is not None
    assert unknown[3] & 15 == 3
    six = answer_to(question("a.example", 28), table)
    assert six is not None
    assert six.endswith(IPv6Address("2600::1").packed)
    mail = answer_to(question("a.example", 15), table)
    assert mail is not None
    assert mail[3] & 15 == 0
    assert struct.unpack(">H", mail[6:8]) == (0,)


@given(st.binary(max_size=80))
def test_the_name_server_bears_anything(data: bytes) -> None:
    reply = answer_to(data, lambda _name: None)
    assert reply is None or reply[:2] == data[:2]

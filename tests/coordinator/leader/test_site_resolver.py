"""Names that are submitted -> addresses that hosts may be sent to."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from ipmicra.addresses import address_of
from ipmicra.coordinator.leader.site_resolver import ResolveResult, SiteResolver
from ipmicra.crawler.fetching.settings import FetchingSettings


@pytest.fixture
def state() -> Iterator[SiteResolver]:
    state = SiteResolver(FetchingSettings(open_ranges=("127.5.0.0/16",), dns_servers=("127.0.0.1:9",)))
    yield state
    state.close()


def resolve(resolver: SiteResolver, *sites: str) -> dict[str, ResolveResult]:
    """All of them, waited for."""
    resolver.begin(sites)
    found: dict[str, ResolveResult] = {}
    end = time.monotonic() + 30
    while len(found) < len(sites) and time.monotonic() < end:
        found |= resolver.take_ended()
        time.sleep(0.01)
    return found


REFUSED = [
    ("http://10.0.0.1", "private"),
    ("http://127.0.0.1:8080", "loopback"),
    ("http://[::1]", "not public"),
    ("http://[64:ff9b::a00:1]", "wraps"),
    ("http://8.8.8.8:25", "port 25"),
]


@pytest.mark.parametrize(("site", "why"), REFUSED)
def test_hosts_are_not_sent_where_no_crawler_may_go(state: SiteResolver, site: str, why: str) -> None:
    found = resolve(state, site)[site]
    assert isinstance(found, str)
    assert why in found


def test_what_may_be_crawled_has_addresses(state: SiteResolver) -> None:
    found = resolve(state, "http://127.5.0.1:8080", "https://8.8.8.8")
    assert found == {
        "http://127.5.0.1:8080": (address_of(4, 0x7F050001),),
        "https://8.8.8.8": (address_of(4, 0x08080808),),
    }


def test_a_look_up_ends_after_its_time_and_makes_room_again() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        resolver = SiteResolver(FetchingSettings(dns_servers=(server,)), lookup_seconds_max=0.2)
        before = resolver.capacity
        resolver.begin([f"https://s{number}.example" for number in range(300)])
        assert resolver.capacity == before - 300
        found = resolve(resolver, "https://8.8.8.8")
        assert found["https://8.8.8.8"] == (address_of(4, 0x08080808),)
        end = time.monotonic() + 30
        while len(found) < 301 and time.monotonic() < end:
            found |= resolver.take_ended()
            time.sleep(0.01)
        assert "no answer in 0.2 s" in str(found["https://s7.example"])
        assert resolver.capacity == before
        resolver.close()

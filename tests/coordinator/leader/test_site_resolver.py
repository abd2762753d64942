"""Names that are submitted -> addresses that hosts may be sent to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ipmicra.addresses import address_of
from ipmicra.coordinator.leader.site_resolver import SiteResolver
from ipmicra.crawler.fetching.settings import FetchingSettings


@pytest.fixture
def state() -> Iterator[SiteResolver]:
    state = SiteResolver(FetchingSettings(open_ranges=("127.5.0.0/16",), dns_servers=("127.0.0.1:9",)))
    yield state
    state.close()


REFUSED = [
    ("http://10.0.0.1", "private"),
    ("http://127.0.0.1:8080", "loopback"),
    ("http://[::1]", "not public"),
    ("http://[64:ff9b::a00:1]", "wraps"),
    ("http://8.8.8.8:25", "port 25"),
]


@pytest.mark.parametrize(("site", "why"), REFUSED)
def test_hosts_are_not_sent_where_no_crawler_may_go(state: SiteResolver, site: str, why: str) -> None:
    found = state.resolve([site])[site]
    assert isinstance(found, str)
    assert why in found


def test_what_may_be_crawled_has_addresses(state: SiteResolver) -> None:
    found = state.resolve(["http://127.5.0.1:8080", "https://8.8.8.8"])
    assert found == {
        "http://127.5.0.1:8080": (address_of(4, 0x7F050001),),
        "https://8.8.8.8": (address_of(4, 0x08080808),),
    }

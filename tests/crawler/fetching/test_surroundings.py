"""What surrounds a fetcher cannot lead it elsewhere: no proxy of the environment, no dead name server."""

from __future__ import annotations

import asyncio
import socket

import pytest

from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import FetchFailed, FetchRequest
from ipmicra.net import dns_resolver
from ipmicra.net.dns_resolver import DnsResolver
from ipmicra.testing.plain_site import serving
from tests.crawler.fetching.loopback_fetching import LOOPBACK, kind_of, says_here


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_proxy_in_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    async def act() -> None:
        async with serving(says_here) as proxy, serving(says_here) as site:
            monkeypatch.setenv(name, proxy.url("").rstrip("/"))
            async with WebFetcher(LOOPBACK, "test") as fetcher:
                assert kind_of(await fetcher.fetch(FetchRequest(url=site.url("/")))) == 200
            assert (len(proxy.connections), len(site.connections)) == (0, 1)

    asyncio.run(act())


def test_with_dead_name_servers_a_name_fails_as_that_and_addresses_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dns_resolver, "QUERY_SECONDS_MAX", 0.5)
    monkeypatch.setattr(dns_resolver, "QUERY_TRIES", 1)

    async def act() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            resolver = DnsResolver([f"127.0.0.1:{silent.getsockname()[1]}"])
            async with serving(says_here) as site, WebFetcher(LOOPBACK, "test", resolver) as fetcher:
                lost = asyncio.create_task(fetcher.fetch(FetchRequest(url="http://a.example/")))
                assert kind_of(await fetcher.fetch(FetchRequest(url=site.url("/")))) == 200
                assert not lost.done()  # it is waited for beside the others
                outcome = await asyncio.wait_for(lost, 100)
                assert isinstance(outcome, FetchFailed)
                assert outcome.kind is FailureKind.DNS_FAILED

    asyncio.run(act())

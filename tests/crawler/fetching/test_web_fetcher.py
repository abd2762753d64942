"""What only the real fetcher does: DNS, guard, kept connections, and the kernel's times."""

from __future__ import annotations

import asyncio

import pytest

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchFailed, FetchRequest
from ipmicra.testing.plain_site import answer, path_of, serving
from tests.crawler.fetching.loopback_fetching import LOOPBACK, kind_of, says_here
from tests.hostile.made_up_names import MadeUpNames

# --- names and addresses ----------------------------------------------------


def test_rebinding_is_stopped_at_the_connection() -> None:
    """The name is public when asked first and private when asked again: the guard sees the very address."""

    async def act() -> None:
        settings = FetchingSettings(open_ranges=("127.0.0.1/32",), dns_ttl_seconds_min=0)
        names = MadeUpNames({"a.org": [["127.0.0.1"], ["127.0.0.2"]]}, ttl_seconds=0)
        async with serving(says_here) as good, serving(says_here, "127.0.0.2", good.port) as secret:
            async with WebFetcher(settings, "test", names) as fetcher:
                asked = FetchRequest(url=good.url("/", "a.org"))
                outcomes = [kind_of(await fetcher.fetch(asked)) for _ in range(3)]
            assert outcomes == [200, FailureKind.REFUSED_ADDRESS, FailureKind.REFUSED_ADDRESS]
            assert (len(good.connections), len(secret.connections)) == (1, 0)

    asyncio.run(act())


def test_of_many_addresses_the_first_that_answers_is_kept() -> None:
    async def act() -> None:
        names = MadeUpNames({"a.org": [["127.0.0.5", "127.0.0.9", "127.0.0.7"]]})
        async with (
            serving(says_here, "127.0.0.7") as seven,
            WebFetcher(LOOPBACK, "test", names) as fetcher,
        ):
            asked = FetchRequest(url=seven.url("/", "a.org"))
            first, second = await fetcher.fetch(asked), await fetcher.fetch(asked)
            assert isinstance(first, Fetched)
            assert isinstance(second, Fetched)
            assert [str(page.address) for page in (first, second)] == ["127.0.0.7"] * 2
            assert [page.reused for page in (first, second)] == [False, True]
            assert str(await fetcher.locate(asked.url)) == "127.0.0.7"

    asyncio.run(act())


def test_a_refused_address_among_public_ones_is_passed_over() -> None:
    async def act() -> None:
        names = MadeUpNames({"a.org": [["10.0.0.1", "127.0.0.1"]]})
        async with serving(says_here) as site, WebFetcher(LOOPBACK, "test", names) as fetcher:
            assert str(await fetcher.locate(site.url("/", "a.org"))) == "127.0.0.1"
            assert kind_of(await fetcher.fetch(FetchRequest(url=site.url("/", "a.org")))) == 200

    asyncio.run(act())


def test_ipv6() -> None:
    async def act() -> None:
        async with serving(says_here, "::1") as site, WebFetcher(LOOPBACK, "test") as fetcher:
            page = await fetcher.fetch(FetchRequest(url=site.url("/")))
            assert isinstance(page, Fetched)
            assert str(page.address) == "::1"

    asyncio.run(act())


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://no.such.name/", FailureKind.DNS_NO_NAME),
        ("http://broken.name/", FailureKind.DNS_FAILED),
        ("http://127.0.0.1:1025/", FailureKind.CONNECT),
        ("http://192.168.0.1/", FailureKind.REFUSED_ADDRESS),
        ("http://127.0.0.1:22/", FailureKind.REFUSED_PORT),
    ],
)
def test_failures_before_a_connection_have_their_kinds(url: str, kind: FailureKind) -> None:
    async def act() -> None:
        async with WebFetcher(LOOPBACK, "test", MadeUpNames({"broken.name": ["broken"]})) as fetcher:
            outcome = await fetcher.fetch(FetchRequest(url=url))
            assert isinstance(outcome, FetchFailed)
            assert (outcome.kind, outcome.fault) == (kind, "site")
            assert outcome.detail

    asyncio.run(act())


# --- connections ------------------------------------------------------------


def test_a_connection_is_kept_and_one_that_the_site_closed_is_replaced() -> None:
    async def act() -> None:
        gone = asyncio.Event()

        async def once_per_connection(
            head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> bool:
            writer.write(answer(b"here"))
            await writer.drain()
            gone.set()
            return path_of(head) != "/last"

        async with serving(once_per_connection) as site, WebFetcher(LOOPBACK, "test") as fetcher:
            for path in ("/", "/", "/last", "/", "/last", "/"):
                assert kind_of(await fetcher.fetch(FetchRequest(url=site.url(path)))) == 200
            assert site.connections == [3, 2, 1]

    asyncio.run(act())


def test_two_names_on_one_address_share_its_one_connection_slot() -> None:
    async def act() -> None:
        running, running_max = 0, 0

        async def counting(
            head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> bool:
            nonlocal running, running_max
            running += 1
            running_max = max(running, running_max)
            await asyncio.sleep(0.002)
            running -= 1
            return await says_here(head, reader, writer)

        names = MadeUpNames({"a.org": [["127.0.0.1"]], "b.org": [["127.0.0.1"]]})
        async with serving(counting) as site, WebFetcher(LOOPBACK, "test", names) as fetcher:
            urls = [site.url("/", name) for name in ("a.org", "b.org") * 4]
            pages = await asyncio.gather(*(fetcher.fetch(FetchRequest(url=url)) for url in urls))
            assert [kind_of(page) for page in pages] == [200] * 8
            assert running_max == 1

    asyncio.run(act())


def test_a_cancelled_fetch_frees_its_place() -> None:
    async def act() -> None:
        asked = asyncio.Event()

        async def stalling(
            head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> bool:
            if path_of(head) == "/stall":
                asked.set()
                await asyncio.Event().wait()
            return await says_here(head, reader, writer)

        async with serving(stalling) as site, WebFetcher(LOOPBACK, "test") as fetcher:
            stalled = asyncio.ensure_future(fetcher.fetch(FetchRequest(url=site.url("/stall"))))
            await asked.wait()
            stalled.cancel()
            assert kind_of(await fetcher.fetch(FetchRequest(url=site.url("/")))) == 200

    asyncio.run(act())


def test_closing_ends_what_is_running() -> None:
    async def act() -> None:
        asked = asyncio.Event()

        async def stalling(
            head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> bool:
            asked.set()
            await asyncio.Event().wait()
            return False

        async with serving(stalling) as site:
            async with WebFetcher(LOOPBACK, "test") as fetcher:
                stalled = asyncio.ensure_future(fetcher.fetch(FetchRequest(url=site.url("/"))))
                await asked.wait()
            assert kind_of(await stalled) is FailureKind.CLOSED

    asyncio.run(act())


def test_the_round_trip_is_the_kernels_and_free_of_the_servers_thinking() -> None:
    async def act() -> None:
        async def thinking(
            head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> bool:
            await asyncio.sleep(0.2)
            return await says_here(head, reader, writer)

        async with serving(thinking) as site, WebFetcher(LOOPBACK, "test") as fetcher:
            page = await fetcher.fetch(FetchRequest(url=site.url("/")))
            assert isinstance(page, Fetched)
            assert page.timings.round_trip_is_kernel
            assert page.timings.round_trip_ms is not None
            assert page.timings.round_trip_ms < 50
            assert page.timings.first_byte_ms >= 200

    asyncio.run(act())

"""Certificates are verified, and a site that insists on HTTP/2 gets it, under the same caps."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from pathlib import Path

import pytest

from ipmicra.crawler.fetching.http2 import IDLE_BYTES_MAX, Http2Connection
from ipmicra.crawler.fetching.http_connection import Wire
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchRequest
from ipmicra.testing.plain_site import serving
from tests.crawler.fetching.loopback_fetching import LOOPBACK, kind_of, says_here, trusting
from tests.hostile.certificates import Authority
from tests.hostile.http2_site import Manner, Page, http2_only
from tests.hostile.made_up_names import MadeUpNames


@pytest.mark.parametrize(
    ("name", "certified", "days_left", "self_signed", "expected"),
    [
        ("a.org", "a.org", 30, False, 200),
        ("a.org", "b.org", 30, False, FailureKind.TLS),
        ("a.org", "a.org", -3, False, FailureKind.TLS),
        ("a.org", "a.org", 30, True, FailureKind.TLS),
    ],
)
def test_certificates_are_verified(
    tmp_path: Path,
    name: str,
    certified: str,
    days_left: int,
    self_signed: bool,
    expected: FailureKind | int,
) -> None:
    authority = Authority(tmp_path)
    tls = authority.context(certified, days_left=days_left, self_signed=self_signed)

    async def act() -> FailureKind | int:
        names = MadeUpNames({name: [["127.0.0.1"]]})
        fetcher = WebFetcher(trusting(authority), "test", names)
        async with serving(says_here, tls=tls) as site, fetcher:
            return kind_of(await fetcher.fetch(FetchRequest(url=site.url("/", name, "https"))))

    assert asyncio.run(act()) == expected


def test_an_unknown_authority_and_a_plain_server_are_tls_failures(tmp_path: Path) -> None:
    async def act() -> None:
        tls = Authority(tmp_path).context("127.0.0.1")
        fetcher = WebFetcher(LOOPBACK, "test")
        async with serving(says_here, tls=tls) as stranger, serving(says_here) as plain, fetcher:
            for site in (stranger, plain):
                outcome = await fetcher.fetch(FetchRequest(url=site.url("/", scheme="https")))
                assert kind_of(outcome) is FailureKind.TLS

    asyncio.run(act())


def test_a_handshake_is_timed_once_per_connection(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def act() -> None:
        tls = authority.context("127.0.0.1")
        async with (
            serving(says_here, tls=tls) as site,
            WebFetcher(trusting(authority), "test") as fetcher,
        ):
            asked = FetchRequest(url=site.url("/", scheme="https"))
            first, second = await fetcher.fetch(asked), await fetcher.fetch(asked)
            assert isinstance(first, Fetched)
            assert isinstance(second, Fetched)
            assert first.timings.tls_ms is not None
            assert (second.timings.tls_ms, second.reused) == (None, True)

    asyncio.run(act())


PAGES = {
    "/": Page(body=b"<p>here"),
    "/long": Page(body=b"x" * 300_000),
    "/endless": Page(endless=True),
    "/gone": Page(410),
    "/flood": Page(fields=tuple((f"x-{number}", "y" * 100) for number in range(300))),
}


def with_http2(
    tmp_path: Path, manner: Manner, act: Callable[[WebFetcher, str], Awaitable[None]]
) -> None:
    authority = Authority(tmp_path)

    async def run() -> None:
        tls = authority.context("127.0.0.1", alpn=("h2",))
        async with (
            http2_only(PAGES, tls, manner) as port,
            WebFetcher(trusting(authority), "test") as fetcher,
        ):
            await act(fetcher, f"https://127.0.0.1:{port}")

    asyncio.run(run())


@pytest.mark.parametrize("manner", ["alerts", "greets", "505"])
def test_a_site_that_insists_on_http2_gets_it(tmp_path: Path, manner: Manner) -> None:
    async def act(fetcher: WebFetcher, base_url: str) -> None:
        for path, status, length in [("/", 200, 7), ("/long", 200, 300_000), ("/gone", 410, 0)]:
            page = await fetcher.fetch(FetchRequest(url=base_url + path))
            assert isinstance(page, Fetched), page
            assert (page.status, len(page.body), page.http_version) == (status, length, "2")
            assert page.reused is (path != "/")

    with_http2(tmp_path, manner, act)


def test_http2_has_the_same_caps(tmp_path: Path) -> None:
    async def act(fetcher: WebFetcher, base_url: str) -> None:
        page = await fetcher.fetch(FetchRequest(url=base_url + "/endless", body_bytes_max=100_000))
        assert isinstance(page, Fetched)
        assert (len(page.body), page.truncated) == (100_000, True)
        flood = await fetcher.fetch(FetchRequest(url=base_url + "/flood"))
        assert kind_of(flood) is FailureKind.HEADERS_TOO_LARGE
        raw = await fetcher.fetch(FetchRequest(url=base_url + "/", keep_raw=True))
        assert isinstance(raw, Fetched)
        assert raw.raw is not None
        assert raw.raw.response == b"HTTP/1.1 200\r\ncontent-type: text/html\r\n\r\n<p>here"

    with_http2(tmp_path, "alerts", act)


class SilentTransport(asyncio.Transport):
    """Takes what is written, and knows whether it was hung up."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.is_aborted = b"", False

    def write(self, data: object) -> None:
        self.written += bytes(data)  # type: ignore[call-overload]

    def abort(self) -> None:
        self.is_aborted = True


PING_FRAME = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00" + bytes(8)


def idle_connection() -> tuple[Http2Connection, SilentTransport]:
    ours, theirs = socket.socketpair()
    theirs.close()
    address = ip_address("192.0.2.1")
    connection = Http2Connection(Wire((True, "a.org", 443), "https://a.org", address, ours, 1.0), "test")
    transport = SilentTransport()
    connection.connection_made(transport)
    return connection, transport


def test_an_idle_connection_answers_a_few_pings_and_no_more() -> None:
    connection, transport = idle_connection()
    for _ in range(10):
        connection.data_received(PING_FRAME)
    is_left_open, answered = not transport.is_aborted, len(transport.written)
    for _ in range(IDLE_BYTES_MAX // len(PING_FRAME)):
        connection.data_received(PING_FRAME)
    assert is_left_open
    assert transport.is_aborted
    assert connection.closed
    assert len(transport.written) - answered <= IDLE_BYTES_MAX
    connection.wire.socket.close()

"""What every Fetcher keeps, the real one and the scripted one: import the class and say how to make it.

A world is a set of answers by path, and a fetcher that sees them under a base URL.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, TypeVar

import pytest

from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, Fetcher, FetchFailed, FetchRequest
from tests.crawler.fetching.scripted_fetcher import Answer

T = TypeVar("T")
HTML = ("content-type", "text/html; charset=utf-8")


class World(NamedTuple):
    fetcher: Fetcher
    base_url: str
    running_max: Callable[[], int]  # requests that the site saw at once


class FetcherContract(abc.ABC):
    """Subclass as TestSomething and give `world`."""

    run: Callable[[Coroutine[object, object, T]], T] = staticmethod(asyncio.run)

    @abc.abstractmethod
    def world(self, answers: Mapping[str, Answer]) -> AbstractAsyncContextManager[World]: ...

    def play(self, answers: Mapping[str, Answer], act: Callable[[World], Awaitable[T]]) -> T:
        async def live() -> T:
            async with self.world(answers) as world:
                return await act(world)

        return self.run(live())

    def fetched(self, answer: Answer, **asked: object) -> Fetched:
        async def act(world: World) -> Fetched:
            request = FetchRequest(url=world.base_url + "/page", **asked)  # type: ignore[arg-type] # any field
            outcome = await world.fetcher.fetch(request)
            assert isinstance(outcome, Fetched)
            return outcome

        return self.play({"/page": answer}, act)

    def test_an_answer_comes_with_its_status_headers_and_body(self) -> None:
        page = self.fetched(Answer(b"<p>here", 203, (HTML, ("x-a", "1"), ("x-a", "2"))))
        assert (page.status, page.body, page.truncated) == (203, b"<p>here", False)
        assert (page.headers.get("x-a"), page.headers.all("x-a")) == ("1", ["1", "2"])
        assert page.headers.get("absent") is None
        assert page.media_type == "text/html"

    def test_an_error_status_is_an_answer(self) -> None:
        assert self.fetched(Answer(b"gone wrong", 500)).status == 500

    def test_a_fetch_is_measured(self) -> None:
        page = self.fetched(Answer(b"here"))
        assert page.timings.round_trip_ms is not None
        assert page.timings.round_trip_ms > 0
        assert page.bytes_on_wire >= len(b"here")
        assert page.timings.first_byte_ms >= 0

    def test_a_body_is_cut_at_the_cap_and_says_so(self) -> None:
        page = self.fetched(Answer(b"x" * 1000), body_bytes_max=100)
        assert (len(page.body), page.truncated) == (100, True)

    def test_a_body_of_exactly_the_cap_is_whole(self) -> None:
        page = self.fetched(Answer(b"x" * 100), body_bytes_max=100)
        assert (len(page.body), page.truncated) == (100, False)

    def test_an_unwanted_media_type_costs_no_body(self) -> None:
        image = Answer(b"\x89PNG", headers=(("content-type", "image/png"),))
        page = self.fetched(image, wanted_types=("text/html",))
        assert (page.status, page.body, page.body_skipped) == (200, b"", True)

    def test_a_wanted_media_type_is_read(self) -> None:
        page = self.fetched(Answer(b"here", headers=(HTML,)), wanted_types=("text/html",))
        assert (page.body, page.body_skipped) == (b"here", False)

    def test_head_has_no_body(self) -> None:
        page = self.fetched(Answer(b"here"), method="HEAD")
        assert (page.status, page.body) == (200, b"")

    @pytest.mark.parametrize("validator", ["etag", "last_modified"])
    def test_an_unchanged_page_is_a_304(self, validator: str) -> None:
        value = '"v1"' if validator == "etag" else "Tue, 15 Nov 1994 12:45:26 GMT"
        known = Answer(b"here", headers=(HTML, (validator.replace("_", "-"), value)))
        assert self.fetched(known, **{validator: value}).status == 304
        assert self.fetched(known, **{validator: value + "x"}).status == 200

    def test_raw_bytes_are_kept_when_asked_for(self) -> None:
        page = self.fetched(Answer(b"here"), keep_raw=True)
        assert page.raw is not None
        assert page.raw.request.startswith(b"GET /page HTTP/1.1\r\n")
        assert page.raw.response.startswith(b"HTTP/1.1 200 ")
        assert page.raw.response.endswith(b"\r\n\r\nhere")
        assert self.fetched(Answer(b"here")).raw is None

    @pytest.mark.parametrize("url", ["ftp://a.org/", "mailto:a@b.org", "no url", "http://", "http://[/"])
    def test_what_is_no_web_address_is_a_bad_url(self, url: str) -> None:
        async def act(world: World) -> None:
            outcome = await world.fetcher.fetch(FetchRequest(url=url))
            assert isinstance(outcome, FetchFailed)
            assert (outcome.kind, outcome.fault) == (FailureKind.BAD_URL, "site")
            located = await world.fetcher.locate(url)
            assert isinstance(located, FetchFailed)
            assert located.kind is FailureKind.BAD_URL

        self.play({}, act)

    def test_locate_tells_the_address_that_is_then_connected_to(self) -> None:
        async def act(world: World) -> None:
            located = await world.fetcher.locate(world.base_url + "/page")
            page = await world.fetcher.fetch(FetchRequest(url=world.base_url + "/page"))
            assert isinstance(page, Fetched)
            assert page.address == located

        self.play({"/page": Answer(b"here")}, act)

    @pytest.mark.parametrize("connections_max", [1, 3])
    def test_a_site_sees_no_more_requests_at_once_than_allowed(self, connections_max: int) -> None:
        async def act(world: World) -> int:
            url = world.base_url + "/page"
            asked = [FetchRequest(url=url, connections_max=connections_max) for _ in range(12)]
            pages = await asyncio.gather(*(world.fetcher.fetch(request) for request in asked))
            assert [page.body for page in pages if isinstance(page, Fetched)] == [b"here"] * 12
            return world.running_max()

        assert self.play({"/page": Answer(b"here")}, act) == connections_max

    def test_a_closed_fetcher_says_so(self) -> None:
        async def act(world: World) -> None:
            await world.fetcher.__aexit__(None, None, None)
            outcome = await world.fetcher.fetch(FetchRequest(url=world.base_url + "/page"))
            assert isinstance(outcome, FetchFailed)
            assert (outcome.kind, outcome.fault) == (FailureKind.CLOSED, "ours")

        self.play({"/page": Answer(b"here")}, act)

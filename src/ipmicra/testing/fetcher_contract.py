"""How to make a fetcher -> whether it keeps the promises of `Fetcher`.

A world is a set of answers by path, and a fetcher that sees them under a base URL. `check_fetcher` serves the
answers from a real web server on loopback. Invariant: each promise plays in worlds of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, Fetcher, FetchFailed, FetchRequest
from ipmicra.testing.contract import Contract
from ipmicra.testing.scripted_fetcher import ScriptedAnswer
from ipmicra.testing.scripted_site import ScriptedSite

Result = TypeVar("Result")
HTML = ("content-type", "text/html; charset=utf-8")
HERE = ScriptedAnswer(b"here")
NOT_WEB = ("ftp://a.org/", "mailto:a@b.org", "no url", "http://", "http://[/")


class FetcherWorld(NamedTuple):
    """A fetcher, and the site that it sees."""

    fetcher: Fetcher
    base_url: str
    running_max: Callable[[], int]  # requests that the site saw at once


MakeWorld: TypeAlias = Callable[
    [Mapping[str, ScriptedAnswer]], AbstractAsyncContextManager[FetcherWorld]
]


class RunLoop(Protocol):
    """asyncio.run, or another loop's."""

    def __call__(self, main: Coroutine[Any, Any, Result]) -> Result: ...


class FetcherBench:
    """Plays requests in new worlds."""

    def __init__(self, make_world: MakeWorld, run: RunLoop = asyncio.run) -> None:
        self._make_world = make_world
        self._run = run

    def play(
        self, answers: Mapping[str, ScriptedAnswer], act: Callable[[FetcherWorld], Awaitable[Result]]
    ) -> Result:
        async def live() -> Result:
            async with self._make_world(answers) as world:
                return await act(world)

        return self._run(live())

    def fetched(self, answer: ScriptedAnswer, **asked: object) -> Fetched:
        """The outcome of one request, which must be an answer."""

        async def act(world: FetcherWorld) -> Fetched:
            request = FetchRequest(url=world.base_url + "/page", **asked)  # type: ignore[arg-type] # any field
            outcome = await world.fetcher.fetch(request)
            assert isinstance(outcome, Fetched), outcome
            return outcome

        return self.play({"/page": answer}, act)


FETCHER: Contract[FetcherBench] = Contract("a fetcher")


def check_fetcher(make: Callable[[], Fetcher], run: RunLoop = asyncio.run) -> None:
    """Check a fetcher against a real web server on 127.0.0.1, which it must be allowed to reach.

    Raises PromiseBroken.
    """

    @contextlib.contextmanager
    def subject() -> Iterator[FetcherBench]:
        yield FetcherBench(loopback_world(make), run)

    FETCHER.check(subject)


def loopback_world(make: Callable[[], Fetcher]) -> MakeWorld:
    """Worlds in which the fetcher sees a real web server."""

    @contextlib.asynccontextmanager
    async def world(answers: Mapping[str, ScriptedAnswer]) -> AsyncIterator[FetcherWorld]:
        async with ScriptedSite(answers).serving() as site, make() as fetcher:
            yield FetcherWorld(fetcher, site.base_url, lambda: site.running_max)

    return world


@FETCHER.promise
def an_answer_comes_with_its_status_headers_and_body(bench: FetcherBench) -> None:
    page = bench.fetched(ScriptedAnswer(b"<p>here", 203, (HTML, ("x-a", "1"), ("x-a", "2"))))
    assert (page.status, page.body, page.truncated) == (203, b"<p>here", False)
    assert (page.headers.get("x-a"), page.headers.all("x-a")) == ("1", ["1", "2"])
    assert page.headers.get("absent") is None
    assert page.media_type == "text/html"


@FETCHER.promise
def an_error_status_is_an_answer(bench: FetcherBench) -> None:
    assert bench.fetched(ScriptedAnswer(b"gone wrong", 500)).status == 500


@FETCHER.promise
def a_redirect_is_an_answer_and_is_not_followed(bench: FetcherBench) -> None:
    page = bench.fetched(ScriptedAnswer(b"", 301, (("location", "/elsewhere"),)))
    assert (page.status, page.headers.get("location")) == (301, "/elsewhere")


@FETCHER.promise
def a_fetch_is_measured(bench: FetcherBench) -> None:
    page = bench.fetched(HERE)
    assert page.timings.round_trip_ms is not None
    assert page.timings.round_trip_ms > 0
    assert page.bytes_on_wire >= len(b"here")
    assert page.timings.first_byte_ms >= 0


@FETCHER.promise
def a_body_is_cut_at_the_cap_and_says_so(bench: FetcherBench) -> None:
    page = bench.fetched(ScriptedAnswer(b"x" * 1000), body_bytes_max=100)
    assert (len(page.body), page.truncated) == (100, True)


@FETCHER.promise
def a_body_of_exactly_the_cap_is_whole(bench: FetcherBench) -> None:
    page = bench.fetched(ScriptedAnswer(b"x" * 100), body_bytes_max=100)
    assert (len(page.body), page.truncated) == (100, False)


@FETCHER.promise
def an_unwanted_media_type_costs_no_body(bench: FetcherBench) -> None:
    image = ScriptedAnswer(b"\x89PNG", headers=(("content-type", "image/png"),))
    page = bench.fetched(image, wanted_types=("text/html",))
    assert (page.status, page.body, page.body_skipped) == (200, b"", True)


@FETCHER.promise
def a_wanted_media_type_is_read(bench: FetcherBench) -> None:
    page = bench.fetched(ScriptedAnswer(b"here", headers=(HTML,)), wanted_types=("text/html",))
    assert (page.body, page.body_skipped) == (b"here", False)


@FETCHER.promise
def head_has_no_body(bench: FetcherBench) -> None:
    page = bench.fetched(HERE, method="HEAD")
    assert (page.status, page.body) == (200, b"")


@FETCHER.promise
def a_page_with_the_same_etag_is_a_304(bench: FetcherBench) -> None:
    known = ScriptedAnswer(b"here", headers=(HTML, ("etag", '"v1"')))
    assert bench.fetched(known, etag='"v1"').status == 304
    assert bench.fetched(known, etag='"v2"').status == 200


@FETCHER.promise
def a_page_with_the_same_date_is_a_304(bench: FetcherBench) -> None:
    date = "Tue, 15 Nov 1994 12:45:26 GMT"
    known = ScriptedAnswer(b"here", headers=(HTML, ("last-modified", date)))
    assert bench.fetched(known, last_modified=date).status == 304
    assert bench.fetched(known, last_modified=date.replace("26", "27")).status == 200


@FETCHER.promise
def raw_bytes_are_kept_when_asked_for(bench: FetcherBench) -> None:
    page = bench.fetched(HERE, keep_raw=True)
    assert page.raw is not None
    assert page.raw.request.startswith(b"GET /page HTTP/1.1\r\n")
    assert page.raw.response.startswith(b"HTTP/1.1 200 ")
    assert page.raw.response.endswith(b"\r\n\r\nhere")
    assert bench.fetched(HERE).raw is None


@FETCHER.promise
def what_is_not_a_web_address_is_a_bad_url(bench: FetcherBench) -> None:
    async def act(world: FetcherWorld) -> None:
        for url in NOT_WEB:
            outcome = await world.fetcher.fetch(FetchRequest(url=url))
            assert isinstance(outcome, FetchFailed), url
            assert (outcome.kind, outcome.fault) == (FailureKind.BAD_URL, "site"), url
            located = await world.fetcher.locate(url)
            assert isinstance(located, FetchFailed), url
            assert located.kind is FailureKind.BAD_URL, url

    bench.play({}, act)


@FETCHER.promise
def locate_returns_the_address_that_is_then_connected_to(bench: FetcherBench) -> None:
    async def act(world: FetcherWorld) -> None:
        located = await world.fetcher.locate(world.base_url + "/page")
        page = await world.fetcher.fetch(FetchRequest(url=world.base_url + "/page"))
        assert isinstance(page, Fetched)
        assert page.address == located

    bench.play({"/page": HERE}, act)


@FETCHER.promise
def a_site_sees_as_many_requests_at_once_as_allowed_and_no_more(bench: FetcherBench) -> None:
    for connections_max in (1, 3):
        assert bench.play({"/page": HERE}, _fetch_twelve(connections_max)) == connections_max


def _fetch_twelve(connections_max: int) -> Callable[[FetcherWorld], Awaitable[int]]:
    async def act(world: FetcherWorld) -> int:
        request = FetchRequest(url=world.base_url + "/page", connections_max=connections_max)
        pages = await asyncio.gather(*(world.fetcher.fetch(request) for _ in range(12)))
        assert [page.body for page in pages if isinstance(page, Fetched)] == [b"here"] * 12
        return world.running_max()

    return act


@FETCHER.promise
def a_closed_fetcher_says_so(bench: FetcherBench) -> None:
    async def act(world: FetcherWorld) -> None:
        await world.fetcher.__aexit__(None, None, None)
        outcome = await world.fetcher.fetch(FetchRequest(url=world.base_url + "/page"))
        assert isinstance(outcome, FetchFailed), outcome
        assert (outcome.kind, outcome.fault) == (FailureKind.CLOSED, "ours")

    bench.play({"/page": HERE}, act)

"""A fetcher that breaks a promise is refused, by that promise's name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
import pytest

from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchFailed, FetchOutcome, FetchRequest, Headers
from ipmicra.testing import (
    FETCHER,
    FetcherBench,
    FetcherWorld,
    PromiseBroken,
    ScriptedAnswer,
    ScriptedFetcher,
)

Change = Callable[[FetchRequest, Fetched], FetchOutcome]
BASE_URL = "http://scripted.org"


class Spoiled(ScriptedFetcher):
    """A right fetcher whose requests or outcomes are changed."""

    def __init__(
        self,
        script: Mapping[str, ScriptedAnswer],
        spoil: Change,
        asked: Callable[[FetchRequest], FetchRequest],
    ) -> None:
        super().__init__(script)
        self._spoil, self._asked = spoil, asked

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        outcome = await super().fetch(self._asked(request))
        return self._spoil(request, outcome) if isinstance(outcome, Fetched) else outcome


def replaced(**fields: Any) -> Change:
    return lambda request, fetched: msgspec.structs.replace(fetched, **fields)


def asking(**fields: Any) -> Callable[[FetchRequest], FetchRequest]:
    return lambda request: msgspec.structs.replace(request, **fields)


def unchanged(request: FetchRequest) -> FetchRequest:
    return request


def keep(request: FetchRequest, fetched: Fetched) -> FetchOutcome:
    return fetched


def failing_at(low: int, high: int) -> Change:
    def change(request: FetchRequest, fetched: Fetched) -> FetchOutcome:
        if low <= fetched.status < high:
            return FetchFailed(url=request.url, kind=FailureKind.CONNECT_TIMEOUT, detail="")
        return fetched

    return change


def unmeasured(request: FetchRequest, fetched: Fetched) -> FetchOutcome:
    timings = msgspec.structs.replace(fetched.timings, round_trip_ms=0.0)
    return msgspec.structs.replace(fetched, timings=timings)


def always_truncated(request: FetchRequest, fetched: Fetched) -> FetchOutcome:
    return msgspec.structs.replace(fetched, truncated=True)


def elsewhere(request: FetchRequest, fetched: Fetched) -> FetchOutcome:
    return msgspec.structs.replace(fetched, address="192.0.2.1")


WRONG: dict[str, tuple[Change, Callable[[FetchRequest], FetchRequest]]] = {
    "an_answer_comes_with_its_status_headers_and_body": (replaced(headers=Headers([])), unchanged),
    "an_error_status_is_an_answer": (failing_at(500, 600), unchanged),
    "a_redirect_is_an_answer_and_is_not_followed": (failing_at(300, 304), unchanged),
    "a_fetch_is_measured": (unmeasured, unchanged),
    "a_body_is_cut_at_the_cap_and_says_so": (keep, asking(body_bytes_max=None)),
    "a_body_of_exactly_the_cap_is_whole": (always_truncated, unchanged),
    "an_unwanted_media_type_costs_no_body": (keep, asking(wanted_types=None)),
    "a_wanted_media_type_is_read": (keep, asking(wanted_types=("text/plain",))),
    "head_has_no_body": (keep, asking(method="GET")),
    "a_page_with_the_same_etag_is_a_304": (keep, asking(etag=None)),
    "a_page_with_the_same_date_is_a_304": (keep, asking(last_modified=None)),
    "raw_bytes_are_kept_when_asked_for": (keep, asking(keep_raw=False)),
    "what_is_not_a_web_address_is_a_bad_url": (keep, asking(url=f"{BASE_URL}/page")),
    "locate_returns_the_address_that_is_then_connected_to": (elsewhere, unchanged),
    "a_site_sees_as_many_requests_at_once_as_allowed_and_no_more": (keep, asking(connections_max=9)),
    "a_closed_fetcher_says_so": (keep, unchanged),
}


class NeverCloses(Spoiled):
    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(0)


def bench(promise: str) -> FetcherBench:
    kind = NeverCloses if promise == "a_closed_fetcher_says_so" else Spoiled

    @contextlib.asynccontextmanager
    async def world(answers: Mapping[str, ScriptedAnswer]) -> AsyncIterator[FetcherWorld]:
        script = {BASE_URL + path: answer for path, answer in answers.items()}
        async with kind(script, *WRONG[promise]) as fetcher:
            yield FetcherWorld(fetcher, BASE_URL, lambda: fetcher.running_max)

    return FetcherBench(world)


def test_every_promise_has_a_fetcher_that_breaks_it() -> None:
    assert list(WRONG) == list(FETCHER.promises)


@pytest.mark.parametrize("promise", WRONG)
def test_a_wrong_fetcher_is_refused_by_name(promise: str) -> None:
    with pytest.raises(PromiseBroken) as broken:
        FETCHER.check_promise(promise, lambda: contextlib.nullcontext(bench(promise)))
    assert broken.value.promise == promise
    assert isinstance(broken.value.__cause__, AssertionError)

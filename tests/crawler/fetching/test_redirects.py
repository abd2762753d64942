"""Hops are made with consent, never twice, never without end."""

from __future__ import annotations

import asyncio

import pytest

from ipmicra.crawler.fetching.redirects import Followed, follow
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchFailed, FetchRequest
from ipmicra.testing.scripted_fetcher import Script, ScriptedAnswer, ScriptedFetcher


def to(location: str, status: int = 301) -> ScriptedAnswer:
    return ScriptedAnswer(status=status, headers=(("location", location),))


def followed(script: dict[str, Script], refused: frozenset[str] = frozenset()) -> Followed:
    async def consents(url: str) -> bool:
        return url not in refused

    async def run() -> Followed:
        async with ScriptedFetcher(script) as fetcher:
            return await follow(fetcher, FetchRequest(url="http://a.org/"), 3, consents)

    return asyncio.run(run())


@pytest.mark.parametrize("location", ["http://a.org/b", "/b", "b#fragment", "//a.org/b"])
def test_a_location_is_joined_and_loses_its_fragment(location: str) -> None:
    end = followed({"http://a.org/": to(location), "http://a.org/b": ScriptedAnswer(b"here")})
    assert isinstance(end.outcome, Fetched)
    assert (end.outcome.url, end.outcome.body) == ("http://a.org/b", b"here")
    assert [hop.url for hop in end.redirects] == ["http://a.org/"]


@pytest.mark.parametrize(
    ("octets", "target"),
    [("/é".encode(), "http://a.org/%C3%A9"), (b"/\xe9", "http://a.org/%C3%A9")],
)
def test_a_location_beyond_ascii_is_utf_8_or_else_latin_1(octets: bytes, target: str) -> None:
    end = followed({"http://a.org/": to(octets.decode("latin-1")), target: ScriptedAnswer(b"here")})
    assert isinstance(end.outcome, Fetched)
    assert (end.outcome.url, end.outcome.body) == (target, b"here")


@pytest.mark.parametrize(
    ("script", "refused", "kind", "hops"),
    [
        ({"http://a.org/": to("/")}, "", FailureKind.REDIRECT_LOOP, 1),
        ({"http://a.org/": to("/b"), "http://a.org/b": to("/")}, "", FailureKind.REDIRECT_LOOP, 2),
        ({"http://a.org/": to("/b")}, "http://a.org/b", FailureKind.REDIRECT_REFUSED, 1),
        (
            {"http://a.org/": to("/1"), **{f"http://a.org/{n}": to(f"/{n + 1}") for n in range(9)}},
            "",
            FailureKind.REDIRECTS_TOO_MANY,
            4,
        ),
        ({"http://a.org/": to("/b"), "http://a.org/b": FailureKind.RESET}, "", FailureKind.RESET, 1),
    ],
)
def test_hops_end_where_they_must(
    script: dict[str, Script], refused: str, kind: FailureKind, hops: int
) -> None:
    end = followed(script, frozenset({refused}))
    assert isinstance(end.outcome, FetchFailed)
    assert (end.outcome.kind, len(end.redirects)) == (kind, hops)


@pytest.mark.parametrize("location", ["", "http://[broken"])
def test_a_redirect_to_nowhere_is_an_answer_like_any_other(location: str) -> None:
    end = followed({"http://a.org/": to(location, 302)})
    assert isinstance(end.outcome, Fetched)
    assert end.outcome.status == 302

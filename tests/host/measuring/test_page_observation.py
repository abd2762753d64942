"""An observation of another crawler's page is as polite as a visit, for any order of the coordinator."""

from __future__ import annotations

import asyncio
import time

import pytest

from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.decisions.scope import scope_around
from ipmicra.crawler.parsing.pool import ParserPool
from ipmicra.crawler.plan import CrawlPlan, plan_from
from ipmicra.crawler.politeness_gate import PolitenessGate
from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.host.measuring import page_observation
from ipmicra.host.measuring.page_observation import PageObserver
from ipmicra.protocol.host_messages import PageObservation
from ipmicra.testing.scripted_fetcher import ScriptedAnswer, ScriptedFetcher

SITE = "http://shop.example"
PLAIN = (("content-type", "text/plain"),)
PAGE = ScriptedAnswer(b"<p>" + b"many words of a page " * 20 + b"</p>")


def robots(text: str) -> ScriptedAnswer:
    return ScriptedAnswer(text.encode(), headers=PLAIN)


def plan(delay_seconds: float = 0.0) -> CrawlPlan:
    settings = CrawlerSettings(delay_seconds_min=delay_seconds, response_time_factor=0.0)
    return plan_from(settings, scope_around([], "site"))


def looks(
    answers: dict[str, ScriptedAnswer], *paths: str, delay_seconds: float = 0.0
) -> list[PageObservation]:
    async def look() -> list[PageObservation]:
        observer, gate = PageObserver(), PolitenessGate(lambda _: PolitenessClock())
        async with ScriptedFetcher({f"{SITE}{path}": answer for path, answer in answers.items()}) as web:
            found = [
                await observer.observe(web, f"{SITE}{path}", plan(delay_seconds), gate, ParserPool(None))
                for path in paths
            ]
            asked.extend(request.url for request in web.requests)
        return found

    asked.clear()
    return asyncio.run(look())


asked: list[str] = []


def test_a_page_is_seen_after_robots_txt_was_asked() -> None:
    (look,) = looks({"/robots.txt": ScriptedAnswer(status=404), "/a": PAGE}, "/a")
    assert look.content_hash
    assert asked == [f"{SITE}/robots.txt", f"{SITE}/a"]


def test_what_robots_txt_forbids_is_not_seen() -> None:
    found = looks({"/robots.txt": robots("user-agent: *\ndisallow: /"), "/a": PAGE}, "/a", "/b")
    assert [look.detail for look in found] == ["robots.txt forbids it"] * 2
    assert asked == [f"{SITE}/robots.txt"]


def test_without_an_answer_to_robots_txt_nothing_is_seen() -> None:
    (look,) = looks({"/robots.txt": ScriptedAnswer(status=503), "/a": PAGE}, "/a")
    assert not look.content_hash
    assert asked == [f"{SITE}/robots.txt"]


def test_a_crawl_delay_that_is_too_long_to_wait_for_is_not_broken() -> None:
    found = looks({"/robots.txt": robots("user-agent: *\ncrawl-delay: 300"), "/a": PAGE}, "/a")
    assert found[0].detail == "the next allowed request to the site is too far ahead"
    assert asked == [f"{SITE}/robots.txt"]


def test_the_pause_between_requests_is_kept() -> None:
    began = time.monotonic()
    looks(
        {"/robots.txt": ScriptedAnswer(status=404), "/a": PAGE, "/b": PAGE},
        "/a",
        "/b",
        delay_seconds=0.2,
    )
    assert len(asked) == 3
    assert time.monotonic() - began >= 0.4


def test_a_coordinator_cannot_aim_a_host_at_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_observation, "PER_SITE_PER_HOUR_MAX", 3)
    pages = {f"/{number}": PAGE for number in range(8)}
    found = looks({"/robots.txt": ScriptedAnswer(status=404), **pages}, *pages)
    assert [bool(look.content_hash) for look in found] == [True] * 3 + [False] * 5

"""One address per name while it answers; TTLs kept, failures remembered, each question asked once."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence

import pytest

from ipmicra.addresses import IPAddress
from ipmicra.model.failures import FailureKind
from ipmicra.net.dns_cache import DnsCache, DnsCacheBounds, DnsFailure
from tests.hostile.made_up_names import BROKEN, MadeUpNames

BOUNDS = DnsCacheBounds(ttl_seconds_min=10, ttl_seconds_max=1000, failure_seconds=300, names_max=3)


class DnsCacheHarness:
    """Names over a script, and a clock that moves by hand."""

    def __init__(self, *answers: Sequence[str] | str, ttl_seconds: float = 60) -> None:
        self.now = 0.0
        self.resolver = MadeUpNames({"a.org": answers}, ttl_seconds)
        self.names = DnsCache(self.resolver, BOUNDS, clock=lambda: self.now)

    def first(self, name: str = "a.org") -> str:
        return str(asyncio.run(self.names.resolve(name)).addresses[0])

    def failure(self, name: str = "a.org") -> FailureKind:
        with pytest.raises(DnsFailure) as caught:
            self.first(name)
        return caught.value.kind

    def questions(self) -> int:
        return len(self.resolver.asked)


def address(text: str) -> IPAddress:
    return ipaddress.ip_address(text)


@pytest.mark.parametrize(("ttl", "kept_seconds"), [(60, 60), (0, 10), (99_999, 1000)])
def test_an_answer_is_kept_for_its_ttl_within_bounds(ttl: float, kept_seconds: float) -> None:
    stage = DnsCacheHarness(["8.8.8.8"], ttl_seconds=ttl)
    for stage.now, questions in [(0, 1), (kept_seconds - 1, 1), (kept_seconds + 1, 2)]:
        assert stage.first() == "8.8.8.8"
        assert stage.questions() == questions


@pytest.mark.parametrize(
    ("answer", "kind"), [(BROKEN, FailureKind.DNS_FAILED), (None, FailureKind.DNS_NO_NAME)]
)
def test_a_failure_is_remembered_for_a_while(answer: str | None, kind: FailureKind) -> None:
    stage = DnsCacheHarness(*([answer] if answer else []))
    assert stage.failure() is kind
    assert stage.failure() is kind
    assert stage.questions() == 1
    stage.now = BOUNDS.failure_seconds + 1
    assert stage.failure() is kind
    assert stage.questions() == 2


def test_a_name_on_many_addresses_stays_at_the_one_that_answered() -> None:
    stage = DnsCacheHarness(["8.8.8.8", "9.9.9.9"], ["9.9.9.9", "1.1.1.1"], ["1.1.1.1"])
    asyncio.run(stage.names.resolve("a.org")).mark_reachable(address("9.9.9.9"))
    assert stage.first() == "9.9.9.9"
    stage.now = 61
    assert stage.first() == "9.9.9.9"  # still listed, though no longer alone
    stage.now = 122
    assert stage.first() == "1.1.1.1"  # no longer listed


def test_the_order_of_answers_does_not_matter() -> None:
    assert DnsCacheHarness(["9.9.9.9", "2606::1", "8.8.8.8"]).first() == "8.8.8.8"
    assert DnsCacheHarness(["8.8.8.8", "9.9.9.9"]).first() == "8.8.8.8"


def test_an_address_that_fails_goes_to_the_back() -> None:
    stage = DnsCacheHarness(["8.8.8.8", "9.9.9.9"])
    asyncio.run(stage.names.resolve("a.org")).demote(address("8.8.8.8"))
    assert stage.first() == "9.9.9.9"


@pytest.mark.parametrize(("name", "expected"), [("127.0.0.1", "127.0.0.1"), ("[2606::1]", "2606::1")])
def test_an_address_in_a_url_is_not_asked_for(name: str, expected: str) -> None:
    stage = DnsCacheHarness()
    assert stage.first(name) == expected
    assert stage.questions() == 0


def test_one_question_at_a_time_for_all_who_ask() -> None:
    stage = DnsCacheHarness(["8.8.8.8"])

    async def act() -> None:
        await asyncio.gather(*(stage.names.resolve("a.org") for _ in range(10)))

    asyncio.run(act())
    assert stage.questions() == 1


def test_memory_is_bounded() -> None:
    stage = DnsCacheHarness()
    for number in range(10):
        stage.failure(f"{number}.org")
    assert [stage.names.cached(f"{number}.org") is not None for number in range(10)] == [False] * 7 + [
        True
    ] * 3

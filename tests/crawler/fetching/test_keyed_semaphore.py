"""At most `limit` holders, in the order of arrival, and nothing left behind."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.crawler.fetching.keyed_semaphore import KeyedSemaphore


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.booleans()), min_size=1, max_size=30
    ),
    st.integers(1, 3),
)
def test_never_more_than_the_limit_whatever_is_cancelled(
    visitors: list[tuple[str, int, bool]], limit: int
) -> None:
    turnstile: KeyedSemaphore[str] = KeyedSemaphore()

    async def visit(key: str, turns: int) -> None:
        await turnstile.acquire(key, limit)
        try:
            assert turnstile.held(key) <= limit
            for _ in range(turns):
                await asyncio.sleep(0)
        finally:
            turnstile.release(key)

    async def act() -> None:
        tasks = [asyncio.ensure_future(visit(key, turns)) for key, turns, _ in visitors]
        for task, (_, turns, cancelled) in zip(tasks, visitors, strict=True):
            for _ in range(turns):
                await asyncio.sleep(0)
            if cancelled:
                task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(
            outcome is None or isinstance(outcome, asyncio.CancelledError) for outcome in outcomes
        )

    asyncio.run(act())
    assert (turnstile.held("a"), turnstile.held("b")) == (0, 0)
    assert turnstile.keys_in_use == set()


def test_whoever_comes_first_enters_first() -> None:
    turnstile: KeyedSemaphore[str] = KeyedSemaphore()
    order: list[int] = []

    async def visit(number: int) -> None:
        await turnstile.acquire("a", 1)
        order.append(number)
        await asyncio.sleep(0)
        turnstile.release("a")

    async def act() -> None:
        await asyncio.gather(*(visit(number) for number in range(6)))

    asyncio.run(act())
    assert order == list(range(6))


@pytest.mark.parametrize("limits", [(3, 1), (1, 3)])
def test_limits_may_differ_from_visitor_to_visitor(limits: tuple[int, int]) -> None:
    turnstile: KeyedSemaphore[str] = KeyedSemaphore()

    async def act() -> None:
        await turnstile.acquire("a", limits[0])
        second = asyncio.ensure_future(turnstile.acquire("a", limits[1]))
        await asyncio.sleep(0)
        assert second.done() is (limits[1] > 1)
        turnstile.release("a")
        await second

    asyncio.run(act())
    assert turnstile.held("a") == 1

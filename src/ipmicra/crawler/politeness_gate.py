"""A site, its address and its politeness policy -> a turn to make one request.

Executes what `decisions.politeness` decides. Invariant: no request starts before the site's clock and
the address's clock both allow it, nor while the address serves as many of our requests as the policy
allows. Sites that share an address are served in the order of arrival.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from ipmicra.crawler.decisions.politeness import (
    REFUSALS,
    PolitenessClock,
    PolitenessPolicy,
    after_refusal,
    after_response,
    after_start,
)
from ipmicra.crawler.frontier.entries import FrontierSite

WAIT_SECONDS_MAX = 5.0  # after a longer wait the site is closed and opened again later


class _AddressQueue:
    """One address: its clock, running requests, waiters and users."""

    __slots__ = ("clock", "running", "users", "waiting")

    def __init__(self, clock: PolitenessClock) -> None:
        self.clock = clock
        self.running = 0
        self.users = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class PolitenessGate:
    """The turns of one crawler. `drain_changed_clocks` returns the clocks to store."""

    def __init__(self, clock_of_address: Callable[[str], PolitenessClock]) -> None:
        self._clock_of_address = clock_of_address
        self._queues: dict[str, _AddressQueue] = {}
        self._changed: set[str] = set()

    async def acquire(self, site: FrontierSite, address: str, policy: PolitenessPolicy) -> float | None:
        """Wait for a turn and take it. If it is too far in the future, return its time."""
        queue = self._queues.get(address)
        if queue is None:
            queue = self._queues[address] = _AddressQueue(self._clock_of_address(address))
        queue.users += 1
        try:
            ready_at = await _turn(queue, site, policy)
        except BaseException:
            self._leave(queue)
            raise
        if ready_at is not None:
            self._leave(queue)
        return ready_at

    def finish(
        self,
        site: FrontierSite,
        address: str,
        policy: PolitenessPolicy,
        response_seconds: float,
        crawl_delay_seconds: float | None = None,
        status: int | None = None,
        retry_after: str | None = None,
    ) -> None:
        """The request has ended: advance both clocks, and wake the next waiter."""
        queue = self._queues[address]
        queue.running -= 1
        now = time.time()
        pause = policy.pause_seconds(response_seconds, crawl_delay_seconds)
        if status in REFUSALS:
            site.clock = after_refusal(site.clock, now, retry_after)
        else:
            site.clock = after_response(site.clock, now, pause)
        queue.clock = after_response(queue.clock, now, pause)
        self._changed.add(address)
        self._leave(queue)

    def cancel(self, address: str) -> None:
        """The turn is not used: nothing was requested; wake the next waiter."""
        queue = self._queues[address]
        queue.running -= 1
        self._changed.add(address)
        self._leave(queue)

    def drain_changed_clocks(self) -> dict[str, PolitenessClock]:
        """Take the clocks that changed since the last call, by address. Unused queues are dropped: their
        clocks are stored.
        """
        changed = {address: self._queues[address].clock for address in self._changed}
        self._changed.clear()
        for address in changed:
            if self._queues[address].users == 0:
                del self._queues[address]
        return changed

    def _leave(self, queue: _AddressQueue) -> None:
        """One user less; wake the longest waiter."""
        queue.users -= 1
        while queue.waiting:
            waiter = queue.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


async def _turn(queue: _AddressQueue, site: FrontierSite, policy: PolitenessPolicy) -> float | None:
    while True:
        while queue.running >= policy.connections:
            waiter = asyncio.get_running_loop().create_future()
            queue.waiting.append(waiter)
            await waiter
        now = time.time()
        ready_at = max(site.clock.ready_at(), queue.clock.ready_at())
        if ready_at <= now:
            break
        if ready_at - now > WAIT_SECONDS_MAX:
            return ready_at
        queue.running += 1  # the turn is ours while we wait for its time
        try:
            await asyncio.sleep(ready_at - now)
        finally:
            queue.running -= 1
    queue.running += 1
    site.clock = after_start(site.clock, now, policy)
    queue.clock = after_start(queue.clock, now, policy)
    return None

"""A site, its address and the manners towards it -> a turn to make one request.

Executes what `decisions.politeness` decides. Law: no request begins before the site's clock and the
address's clock both allow it, nor while the address serves as many of our requests as the manners allow.
Sites that share an address wait for each other in the order in which they came.
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
    after_answer,
    after_refusal,
    after_start,
)
from ipmicra.crawler.frontier.entries import FrontierSite

HOLD_SECONDS = 5.0  # a longer wait is not sat out: the site is closed and opened again later


class _AddressQueue:
    """One address: its clock, who is being served, who waits, and how many care."""

    __slots__ = ("clock", "running", "users", "waiting")

    def __init__(self, clock: PolitenessClock) -> None:
        self.clock = clock
        self.running = 0
        self.users = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class PolitenessGate:
    """The turns of one crawler. Clocks that moved are handed over for keeping by `moved_clocks`."""

    def __init__(self, clock_of_address: Callable[[str], PolitenessClock]) -> None:
        self._clock_of_address = clock_of_address
        self._gates: dict[str, _AddressQueue] = {}
        self._moved: set[str] = set()

    async def begin(self, site: FrontierSite, address: str, manners: PolitenessPolicy) -> float | None:
        """Wait for a turn and take it. When it is far off, return the time when it will come."""
        gate = self._gates.get(address)
        if gate is None:
            gate = self._gates[address] = _AddressQueue(self._clock_of_address(address))
        gate.users += 1
        try:
            ready_at = await _turn(gate, site, manners)
        except BaseException:
            self._leave(gate)
            raise
        if ready_at is not None:
            self._leave(gate)
        return ready_at

    def end(
        self,
        site: FrontierSite,
        address: str,
        manners: PolitenessPolicy,
        response_seconds: float,
        crawl_delay_seconds: float | None = None,
        status: int | None = None,
        retry_after: str | None = None,
    ) -> None:
        """The request is over: move both clocks, and let the next one in."""
        gate = self._gates[address]
        gate.running -= 1
        now = time.time()
        pause = manners.pause_seconds(response_seconds, crawl_delay_seconds)
        if status in REFUSALS:
            site.clock = after_refusal(site.clock, now, retry_after)
        else:
            site.clock = after_answer(site.clock, now, pause)
        gate.clock = after_answer(gate.clock, now, pause)
        self._moved.add(address)
        self._leave(gate)

    def give_back(self, address: str) -> None:
        """The turn is not used: nothing was asked, and the next one may look whether it is his."""
        gate = self._gates[address]
        gate.running -= 1
        self._moved.add(address)
        self._leave(gate)

    def moved_clocks(self) -> dict[str, PolitenessClock]:
        """Addresses whose clocks moved since the last call. Idle gates are forgotten: they are kept."""
        moved = {address: self._gates[address].clock for address in self._moved}
        self._moved.clear()
        for address in moved:
            if self._gates[address].users == 0:
                del self._gates[address]
        return moved

    def _leave(self, gate: _AddressQueue) -> None:
        """One user fewer; whoever waits longest may look whether it is his turn."""
        gate.users -= 1
        while gate.waiting:
            waiter = gate.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


async def _turn(gate: _AddressQueue, site: FrontierSite, manners: PolitenessPolicy) -> float | None:
    while True:
        while gate.running >= manners.connections:
            waiter = asyncio.get_running_loop().create_future()
            gate.waiting.append(waiter)
            await waiter
        now = time.time()
        ready_at = max(site.clock.ready_at(), gate.clock.ready_at())
        if ready_at <= now:
            break
        if ready_at - now > HOLD_SECONDS:
            return ready_at
        gate.running += 1  # the turn is ours while we wait for its time
        try:
            await asyncio.sleep(ready_at - now)
        finally:
            gate.running -= 1
    gate.running += 1
    site.clock = after_start(site.clock, now, manners)
    gate.clock = after_start(gate.clock, now, manners)
    return None

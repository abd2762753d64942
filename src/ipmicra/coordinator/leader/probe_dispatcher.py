"""Probe tasks -> orders to hosts, and the hosts' answers back to the tasks.

A probe task is a generator that yields `Probe`s and is sent `ProbeAnswer`s: a delegation, a re-check, a
balancing pass. Probes that the same host is to send at the same time travel in one order.

Invariant: a sleeping host is never asked, and an address is not probed beyond its rate limit: a task that
wants such a probe gets `PROBE_NOT_SENT` at once. An order that is not answered in time is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from sqlalchemy import Connection, select

from ipmicra.addresses import IPAddress
from ipmicra.coordinator.leader.probe_rate_limit import ProbeRateLimit
from ipmicra.coordinator.store import orders
from ipmicra.coordinator.store.sql.schema import order_table
from ipmicra.delegation.crawlers import Crawlers
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import NoAnswer, Probe, ProbeAnswer, Target
from ipmicra.model.urls import Site, port_of
from ipmicra.protocol.host_messages import OrderDone, ProbeResult, ProbeTarget, ProbeTargets

TARGETS_PER_ORDER_MAX = 50
PROBE_NOT_SENT = ProbeAnswer(None, NoAnswer.CRAWLER_GONE)
_HOST = "host:"  # prefix of a host's name, in the field that otherwise holds a site
_SILENCES = {silence.value: silence for silence in NoAnswer}

ProbeTask = Generator[Probe, ProbeAnswer, Any]


class OnFinished(Protocol):
    """Called with the result of a finished probe task."""

    def __call__(self, connection: Connection, result: Any, /) -> None: ...


@dataclass(eq=False)
class PendingProbeTask:
    """A probe task, the probe it waits for, and the order that carries it."""

    task: ProbeTask
    on_finished: OnFinished
    probe: Probe | None = None
    order: int | None = None
    sent_s: float = 0.0


class ProbeDispatcher:
    """Runs all probe tasks of one leader."""

    def __init__(
        self, crawlers: Callable[[], Crawlers], rate_limit: ProbeRateLimit, patience_s: float
    ) -> None:
        self._crawlers = crawlers
        self._rate_limit = rate_limit
        self._patience_s = patience_s
        self._open: dict[PendingProbeTask, None] = {}
        self.probes = 0  # sent out so far

    def __len__(self) -> int:
        return len(self._open)

    def submit(self, connection: Connection, task: ProbeTask, on_finished: OnFinished) -> None:
        pending = PendingProbeTask(task, on_finished)
        self._open[pending] = None
        self._step(connection, pending, None)

    def advance(self, connection: Connection, now_s: float) -> None:
        """Read answers, cancel probes that took too long, and send new ones."""
        self._read_answers(connection, now_s)
        self._fail_unsendable(connection, now_s)
        self._send_probes(connection, now_s)

    def cancel_all(self) -> None:
        """The lease is lost: the next leader starts its own tasks."""
        for pending in self._open:
            pending.task.close()
        self._open.clear()

    # --- answers ------------------------------------------------------------

    def _read_answers(self, connection: Connection, now_s: float) -> None:
        asked = [(c, c.order) for c in self._open if c.order is not None]
        numbers = {number for _, number in asked}
        query = select(order_table.c.number, order_table.c.outcome).where(
            order_table.c.number.in_(numbers), order_table.c.done_s.is_not(None)
        )
        done = {row.number: row.outcome for row in connection.execute(query)} if numbers else {}
        for pending, number in asked:
            if number in done:
                self._step(connection, pending, _answer(pending.probe, done[number]))
            elif now_s - pending.sent_s > self._patience_s:
                orders.cancel(connection, number, now_s)
                self._step(connection, pending, PROBE_NOT_SENT)

    def _fail_unsendable(self, connection: Connection, now_s: float) -> None:
        """Answer probes that may not be sent, until every task waits for one that may."""
        waiting = [c for c in self._open if c.order is None]
        while waiting:
            refused = [c for c in waiting if c.probe is not None and not self._may_send(c.probe, now_s)]
            for pending in refused:
                self._step(connection, pending, PROBE_NOT_SENT)
            waiting = [c for c in refused if c in self._open]

    def _may_send(self, probe: Probe, now_s: float) -> bool:
        is_awake = self._crawlers().is_awake(probe.crawler)
        return is_awake and not self._rate_limit.is_exhausted(probe.target.address, now_s)

    def _step(
        self, connection: Connection, pending: PendingProbeTask, answer: ProbeAnswer | None
    ) -> None:
        pending.order = None
        try:
            task = pending.task
            pending.probe = next(task) if answer is None else task.send(answer)
        except StopIteration as end:
            del self._open[pending]
            pending.on_finished(connection, end.value)

    # --- probes -------------------------------------------------------------

    def _send_probes(self, connection: Connection, now_s: float) -> None:
        by_host: dict[CrawlerId, list[PendingProbeTask]] = {}
        for pending in self._open:
            probe = pending.probe
            if pending.order is not None or probe is None:
                continue
            if self._rate_limit.is_exhausted(probe.target.address, now_s):
                continue  # its limit was reached while it waited; the next round answers it
            if not self._rate_limit.has_capacity(now_s):
                break
            self._rate_limit.record(probe.target.address, now_s)
            by_host.setdefault(probe.crawler, []).append(pending)
        for host, wanting in by_host.items():
            for at in range(0, len(wanting), TARGETS_PER_ORDER_MAX):
                self._send_order(connection, host, wanting[at : at + TARGETS_PER_ORDER_MAX], now_s)

    def _send_order(
        self, connection: Connection, host: CrawlerId, wanting: list[PendingProbeTask], now_s: float
    ) -> None:
        probes = [c.probe for c in wanting if c.probe is not None]
        targets = tuple(dict.fromkeys(_target(probe) for probe in probes))
        self.probes += len(targets)
        key = f"{targets[0].address} {now_s} {self.probes}"
        number = orders.give(connection, host, ProbeTargets(targets=targets), key, now_s)
        for pending in wanting:
            pending.order, pending.sent_s = number, now_s


def host_target(crawler: CrawlerId, address: IPAddress) -> Target:
    """Another host as a probe target, at its address."""
    return Target.of(f"{_HOST}{crawler}", address)


def _target(probe: Probe) -> ProbeTarget:
    site, address = Site(probe.target.site), str(probe.target.address)
    if site.startswith(_HOST):
        return ProbeTarget(site=site, address=address, is_host=True)
    return ProbeTarget(site=site, address=address, port=port_of(site))


def _answer(probe: Probe | None, outcome: bytes | None) -> ProbeAnswer:
    """The host's result for this probe; `PROBE_NOT_SENT` if the order was cancelled."""
    if probe is None or outcome is None:
        return PROBE_NOT_SENT
    done = msgspec.msgpack.decode(outcome, type=OrderDone)
    wanted = (probe.target.site, str(probe.target.address))
    for result in done.probes:
        if (result.site, result.address) == wanted:
            return _to_answer(result)
    return PROBE_NOT_SENT


def _to_answer(result: ProbeResult) -> ProbeAnswer:
    """A reason that is not a `NoAnswer` is the host's reason not to send the probe."""
    if result.round_trip_ms is not None:
        return ProbeAnswer(result.round_trip_ms)
    silence = result.silence or NoAnswer.TIMED_OUT.value
    return ProbeAnswer(None, _SILENCES.get(silence, NoAnswer.CRAWLER_ASLEEP))

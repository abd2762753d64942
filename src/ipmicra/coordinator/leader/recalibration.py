"""Passive measurements -> learned round trips, re-checks of units that became slow, and load balancing.

Invariant: passive measurements trigger a re-check, but only probes move a unit: it is delegated again only
after its owner was slow several times in a row, or is over its daily capacity.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from ipmicra.coordinator.assignment.heartbeats import PassiveRoundTrip
from ipmicra.coordinator.leader.decision_batch import DecisionBatch
from ipmicra.coordinator.leader.probe_dispatcher import ProbeDispatcher, ProbeTask
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store.delegations import DecisionReasons, reasons_of
from ipmicra.coordinator.store.unit_codec import unit_from_text, unit_text
from ipmicra.delegation.balancing.passes import passes_of
from ipmicra.delegation.balancing.policies import POLICIES, Policy
from ipmicra.delegation.balancing.snapshot import CompletedMove, UnitLoad, balanced
from ipmicra.delegation.calibration import (
    Calibration,
    CalibrationSettings,
    CalibrationVerdict,
    FetchTimeHistory,
    Recalibration,
    recalibrate,
)
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.strategy import Strategy
from ipmicra.errors import OperatorFault
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Source, Target

DAY_S = 86_400.0
UNITS_SAVED_MAX = 20_000  # units whose loads and histories are saved; about 2 MB


class RecheckRequest(NamedTuple):
    """A unit to be probed again, because a fetch of this target was slow."""

    unit: DelegationUnit
    target: Target
    time_ms: float


class DayLoads(msgspec.Struct, frozen=True, rename={"units": "grounds"}):
    """Bytes of a day (UTC) by unit, each with a site in it and the site's address."""

    day: int = -1
    units: list[tuple[str, float, str, str]] = []


class Recalibrator:
    """Evaluates the crawlers' passive measurements for one strategy."""

    def __init__(
        self, strategy: Strategy, decisions: DecisionBatch, settings: CoordinatorSettings
    ) -> None:
        if settings.balancing not in POLICIES:
            known = ", ".join(POLICIES)
            raise OperatorFault(
                f"coordinator.balancing = {settings.balancing!r}is not a policy; choose one of {known}"
            )
        self._strategy, self._decisions = strategy, decisions
        self._settings = settings
        self._calibration = Calibration(
            CalibrationSettings(
                factor=settings.calibration_factor,
                repeats=settings.calibration_repeats,
                rest_s=settings.calibration_rest_seconds,
            )
        )
        self._rechecking: set[DelegationUnit] = set()
        self._day = -1
        self._loads: dict[DelegationUnit, UnitLoad] = {}
        self._balanced_s: float | None = None
        self._passes: list[Policy] = []  # remaining passes of the current balancing

    # --- checkpoint -----------------------------------------------------------

    def loads(self) -> DayLoads:
        """The units with the most bytes of the current day."""
        heaviest = sorted(self._loads.items(), key=lambda item: -item[1].bytes_a_day)[:UNITS_SAVED_MAX]
        return DayLoads(
            day=self._day,
            units=[
                (
                    unit_text(self._strategy.tree, unit),
                    w.bytes_a_day,
                    w.target.site,
                    str(w.target.address),
                )
                for unit, w in heaviest
            ],
        )

    def histories(self) -> list[tuple[str, FetchTimeHistory]]:
        """Fetch-time histories of the units that were reported last."""
        latest = list(self._calibration.histories().items())[-UNITS_SAVED_MAX:]
        return [(unit_text(self._strategy.tree, unit), history) for unit, history in latest]

    def restore(self, loads: DayLoads, histories: Sequence[tuple[str, FetchTimeHistory]]) -> None:
        """Take over an earlier leader's state; loads of another day are dropped with the first report."""
        tree = self._strategy.tree
        for text, history in histories:
            unit = unit_from_text(tree, text)
            if unit is not None and history.crawler in self._strategy.crawlers:
                self._calibration.restore(unit, history)
        self._day = loads.day
        for text, bytes_a_day, site, address in loads.units:
            if (unit := unit_from_text(tree, text)) is not None:
                target = Target.of(site, ipaddress.ip_address(address))
                self._loads[unit] = UnitLoad(bytes_a_day, target)
        self._update_loads()

    # --- reports --------------------------------------------------------------

    def observe(self, observation: PassiveRoundTrip, now_s: float) -> RecheckRequest | None:
        """Learn from one measurement; returns a request if the unit must be re-checked.

        A measurement without a round trip says nothing about distance: it only adds to the load.
        """
        strategy, crawler, seen = self._strategy, CrawlerId(observation.crawler), observation.passive
        address = _address(seen.address)
        if address is None or crawler not in strategy.crawlers:
            return None
        time_ms = seen.round_trip_ms
        if time_ms is not None:
            strategy.learn(Measurement(crawler, address, time_ms, observation.at_s, Source.PASSIVE))
        target = Target.of(seen.site, address)
        if strategy.owner_of(target) != crawler:
            return None
        unit = strategy.unit_of(target)
        self._add_load(unit, target, seen.body_bytes, now_s)
        if time_ms is None:
            return None
        verdict = self._calibration.observe(unit, crawler, time_ms, now_s)
        wanted = verdict is CalibrationVerdict.LOOK_AGAIN and unit not in self._rechecking
        return RecheckRequest(unit, target, time_ms) if wanted else None

    def recheck(
        self, connection: Connection, request: RecheckRequest, dispatcher: ProbeDispatcher, now_s: float
    ) -> None:
        """Start a re-check; units that it moves are written when it ends."""
        self._rechecking.add(request.unit)

        def on_finished(connection: Connection, result: Recalibration | None) -> None:
            self._rechecking.discard(request.unit)
            if result is not None and result.moved:
                reasons = reasons_of(result.decision, self._settings.strategy, request.target.site)
                units = [request.unit, *result.decision.subnets]
                self._decisions.write_and_release(connection, units, reasons, now_s)

        task = recalibrate(self._strategy, self._calibration, request.target, request.time_ms, now_s)
        dispatcher.submit(connection, task, on_finished)

    def balance(self, connection: Connection, dispatcher: ProbeDispatcher, now_s: float) -> None:
        """At intervals, relieve crawlers that are over their daily capacity, in as many passes as needed."""
        due = self._balanced_s is None or now_s - self._balanced_s >= self._settings.balancing_seconds
        if not due:
            return
        self._balanced_s = now_s
        self._update_loads()
        fullness = self._strategy.crawlers.fullness
        overfull = any(fullness(crawler) > 1 for crawler in self._strategy.crawlers.all)
        if not self._passes and overfull:
            self._passes = list(passes_of(self._settings.balancing))
        if not self._passes:
            return

        def on_finished(connection: Connection, moved: tuple[CompletedMove, ...]) -> None:
            reasons = DecisionReasons(
                why="relieved",
                words="its crawler was over its daily capacity",
                strategy=self._settings.balancing,
            )
            self._decisions.write_and_release(connection, [move.unit for move in moved], reasons, now_s)

        task: ProbeTask = balanced(self._strategy, dict(self._loads), self._passes.pop(0), now_s)
        dispatcher.submit(connection, task, on_finished)

    def _add_load(self, unit: DelegationUnit, target: Target, body_bytes: int, now_s: float) -> None:
        """Add bytes to the unit's load of the current day (UTC)."""
        if (day := int(now_s // DAY_S)) != self._day:
            self._day, self._loads = day, {}
        before = self._loads.get(unit)
        self._loads[unit] = UnitLoad((before.bytes_a_day if before else 0.0) + body_bytes, target)

    def _update_loads(self) -> None:
        """Update the strategy with each crawler's load, for choices between equally near crawlers."""
        carried: dict[CrawlerId, float] = {}
        for unit, weighed in self._loads.items():
            if (owner := self._strategy.delegations.owner(unit)) is not None:
                carried[owner] = carried.get(owner, 0.0) + weighed.bytes_a_day
        for crawler in self._strategy.crawlers.all:
            self._strategy.on_crawler_loaded(crawler, carried.get(crawler, 0.0))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None

"""Present hosts -> round trips between hosts, measured at intervals; the strategies use them.

Hosts accept no connections, but most addresses still answer a probe: with an echo, or by refusing. If an
address does not answer, or the probing host can measure web servers only, the site nearest to the other
host is probed in its place. Pairs without any answer are estimated from the hosts' coordinates.

Invariant: mesh probes obey working hours and rate limits. Each pair is measured once per refresh interval;
each host has at most `mesh_partners_max` partners, chosen deterministically.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence

import msgspec
from sqlalchemy import Connection

from ipmicra.coordinator.leader.decision_batch import target_of
from ipmicra.coordinator.leader.probe_dispatcher import ProbeDispatcher, host_target
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import sites
from ipmicra.delegation.strategy import Strategy
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, ProbeAnswer, Target

CHECK_SECONDS = 10.0  # between two checks for due pairs
PROBERS_PER_CHECK = (
    10  # hosts that start probing per check: limits the load when many hosts join at once
)
RETRY_SHARE = (
    1 / 24
)  # of the refresh interval, after which a silent pair is probed again: a nearby site may exist by then
SAME_ADDRESS_MS = 1.0  # assumed between hosts that share an address
NEAR_MS = 10.0  # a site within this round trip of a host may be probed in its place
SITES_EXAMINED = 200  # of one host, to find the nearest

HostPair = tuple[CrawlerId, CrawlerId]  # in the order of their names


class HostRoundTrip(msgspec.Struct, frozen=True):
    """A measurement between two hosts; the round trip is None if there was no answer."""

    one: CrawlerId
    other: CrawlerId
    round_trip_ms: float | None
    at_s: float
    both_asked: bool = False  # no answer in the other direction either


class HostMesh:
    """The round trips between the hosts of one strategy."""

    def __init__(self, strategy: Strategy, settings: CoordinatorSettings) -> None:
        self._strategy, self._settings = strategy, settings
        self._known: dict[HostPair, HostRoundTrip] = {}
        self._probing: set[CrawlerId] = set()
        self._checked_s: float | None = None
        self._ring: list[CrawlerId] = []

    # --- checkpoint -----------------------------------------------------------

    def round_trips(self) -> list[HostRoundTrip]:
        return list(self._known.values())

    def restore(self, known: Sequence[HostRoundTrip]) -> None:
        """Take over earlier measurements between present hosts."""
        for round_trip in known:
            self._record(round_trip)

    def _record(self, round_trip: HostRoundTrip) -> None:
        crawlers = self._strategy.crawlers
        if round_trip.one in crawlers and round_trip.other in crawlers:
            self._known[_pair(round_trip.one, round_trip.other)] = round_trip
            if round_trip.round_trip_ms is not None:
                self._strategy.on_crawlers_measured(
                    round_trip.one, round_trip.other, round_trip.round_trip_ms
                )

    # --- probing --------------------------------------------------------------

    def probe_due_pairs(self, connection: Connection, dispatcher: ProbeDispatcher, now_s: float) -> None:
        """Start the due measurements; each awake host probes its partners one after the other."""
        if self._checked_s is not None and now_s - self._checked_s < CHECK_SECONDS:
            return
        self._checked_s = now_s
        crawlers = self._strategy.crawlers
        self._known = {pair: b for pair, b in self._known.items() if all(c in crawlers for c in pair)}
        landmarks: dict[CrawlerId, list[Target]] = {}  # of this check
        started = 0
        for prober in crawlers.awake:
            if prober not in self._probing and (others := self._due(prober, now_s)):
                for other in others:
                    if other not in landmarks:
                        landmarks[other] = self._landmarks(connection, other)
                self._start(connection, dispatcher, prober, {o: landmarks[o] for o in others}, now_s)
                started += 1
            if started >= PROBERS_PER_CHECK:
                break

    def _start(
        self,
        connection: Connection,
        dispatcher: ProbeDispatcher,
        prober: CrawlerId,
        landmarks: Mapping[CrawlerId, Sequence[Target]],
        now_s: float,
    ) -> None:
        def on_finished(_connection: Connection, _result: None) -> None:
            self._probing.discard(prober)

        self._probing.add(prober)
        dispatcher.submit(connection, self._probe_task(prober, landmarks, now_s), on_finished)

    def _probe_task(
        self, prober: CrawlerId, landmarks: Mapping[CrawlerId, Sequence[Target]], now_s: float
    ) -> Generator[Probe, ProbeAnswer, None]:
        for other, targets in landmarks.items():
            crawlers = self._strategy.crawlers
            if prober not in crawlers or other not in crawlers:
                continue
            if self._same_address(prober, other):
                self._record(HostRoundTrip(prober, other, SAME_ADDRESS_MS, now_s))
                continue
            answers = []
            for target in targets:
                answers.append((yield Probe(prober, target)))
                if answers[-1].round_trip_ms is not None:
                    break
            if any(answer.about_target for answer in answers):
                self._record(self._merged(prober, other, answers[-1].round_trip_ms, now_s))

    def _merged(
        self, prober: CrawlerId, other: CrawlerId, round_trip_ms: float | None, now_s: float
    ) -> HostRoundTrip:
        """A missing answer does not replace an earlier measurement."""
        before = self._known.get(_pair(prober, other))
        if round_trip_ms is None and before is not None and before.round_trip_ms is not None:
            return msgspec.structs.replace(before, at_s=now_s)
        silent_before = before is not None and before.one == other
        return HostRoundTrip(prober, other, round_trip_ms, now_s, silent_before)

    def _landmarks(self, connection: Connection, other: CrawlerId) -> list[Target]:
        """Targets for measuring a host: its address, then the site that is nearest to it."""
        address = self._strategy.crawlers.profile(other).address
        own = [] if address is None else [host_target(other, address)]
        near = [
            (round_trip_ms, target)
            for target in map(target_of, sites.delegated_to(connection, other, SITES_EXAMINED))
            if (round_trip_ms := self._measured_ms(other, target)) is not None
        ]
        nearest = min(near, key=lambda found: found[0], default=None)
        return own if nearest is None or nearest[0] > NEAR_MS else [*own, nearest[1]]

    def _measured_ms(self, crawler: CrawlerId, target: Target) -> float | None:
        place = self._strategy.measured_range(target.address)
        record = self._strategy.measurements.of(place).get(crawler)
        return None if record is None else record.least_ms

    def _same_address(self, one: CrawlerId, other: CrawlerId) -> bool:
        profile = self._strategy.crawlers.profile
        return profile(one).address is not None and profile(one).address == profile(other).address

    # --- which host probes which ----------------------------------------------

    def _due(self, prober: CrawlerId, now_s: float) -> list[CrawlerId]:
        """Partners that the host is to probe now: of a pair, the host whose name comes first begins.

        If that host sleeps or got no answer, the other one tries. The host that got an answer probes next
        time.
        """
        return [other for other in self._partners(prober) if self._is_due(prober, other, now_s)]

    def _is_due(self, prober: CrawlerId, other: CrawlerId, now_s: float) -> bool:
        known = self._known.get(_pair(prober, other))
        if known is None:
            return prober < other or not self._strategy.crawlers.is_awake(other)
        refresh_s = self._settings.mesh_refresh_seconds
        if known.round_trip_ms is not None:
            turn = known.one == prober or not self._strategy.crawlers.is_awake(known.one)
            return turn and now_s - known.at_s >= refresh_s
        others_turn = known.one != prober and not known.both_asked
        return others_turn or now_s - known.at_s >= refresh_s * RETRY_SHARE

    def _partners(self, crawler: CrawlerId) -> list[CrawlerId]:
        """All other hosts; if there are too many, the neighbours on a ring of hashed names, so that joins
        and leaves change few partners.
        """
        ring, most = self._hash_ring(), self._settings.mesh_partners_max
        if len(ring) - 1 <= most:
            return [other for other in ring if other != crawler]
        here, reach = ring.index(crawler), most // 2
        return [ring[(here + step) % len(ring)] for step in range(-reach, reach + 1) if step]

    def _hash_ring(self) -> list[CrawlerId]:
        crawlers = self._strategy.crawlers.all
        if len(self._ring) != len(crawlers) or set(self._ring) != set(crawlers):
            self._ring = sorted(crawlers, key=_ring_position)
        return self._ring


def _pair(one: CrawlerId, other: CrawlerId) -> HostPair:
    return (one, other) if one < other else (other, one)


def _ring_position(crawler: CrawlerId) -> bytes:
    return hashlib.blake2b(crawler.encode(), digest_size=8).digest()

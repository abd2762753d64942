"""Hosts that are there -> their round trips to each other, asked now and then: what strategies know for free.

No host accepts a connection, but most answer for their address all the same: with an echo, or by refusing.
Where an address is silent, or a host sees no round trips but those of answers, the site that is nearest to
the other host stands for it. What nobody answers is left to be estimated by where the hosts stand.

Law: such probes are probes: within hours and caps. A pair is asked once in a refresh, a host has so many
partners and no more, the same ones whoever leads.
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
from ipmicra.model.probes import CrawlerId, Probe, ProbeAnswer, Target

CHECK_SECONDS = 10.0  # between two looks whom to ask
PROBERS_PER_CHECK = 10  # hosts that begin to ask at once: a thousand newcomers take their time
RETRY_SHARE = 1 / 24  # of a refresh, after which silence is asked again: a site near by may have come
SAME_ADDRESS_MS = 1.0  # between hosts that share an address
NEAR_MS = 10.0  # a site this near to a host may stand for it
SITES_EXAMINED = 200  # of one host, for the nearest

HostPair = tuple[CrawlerId, CrawlerId]  # in the order of their names


class HostRoundTrip(msgspec.Struct, frozen=True):
    """What was found between two hosts, and when; no round trip where nobody answered."""

    one: CrawlerId
    other: CrawlerId
    round_trip_ms: float | None
    at_s: float
    both_asked: bool = False  # for silence: the other heard nothing either


class HostMesh:
    """Who knows how far whom is."""

    def __init__(self, strategy: Strategy, settings: CoordinatorSettings) -> None:
        self._strategy, self._settings = strategy, settings
        self._known: dict[HostPair, HostRoundTrip] = {}
        self._probing: set[CrawlerId] = set()
        self._checked_s: float | None = None
        self._ring: list[CrawlerId] = []

    # --- memory ---------------------------------------------------------------

    def round_trips(self) -> list[HostRoundTrip]:
        return list(self._known.values())

    def restore(self, known: Sequence[HostRoundTrip]) -> None:
        """What was found before, of hosts that are there."""
        for round_trip in known:
            self._record(round_trip)

    def _record(self, round_trip: HostRoundTrip) -> None:
        crawlers = self._strategy.crawlers
        if round_trip.one in crawlers and round_trip.other in crawlers:
            self._known[_pair(round_trip.one, round_trip.other)] = round_trip
            if round_trip.round_trip_ms is not None:
                self._strategy.crawlers_measured(
                    round_trip.one, round_trip.other, round_trip.round_trip_ms
                )

    # --- asking ---------------------------------------------------------------

    def probe_due_pairs(self, connection: Connection, dispatcher: ProbeDispatcher, now_s: float) -> None:
        """Begin to ask what is due, one partner after the other for each host that is awake."""
        if self._checked_s is not None and now_s - self._checked_s < CHECK_SECONDS:
            return
        self._checked_s = now_s
        crawlers = self._strategy.crawlers
        self._known = {pair: b for pair, b in self._known.items() if all(c in crawlers for c in pair)}
        landmarks: dict[CrawlerId, list[Target]] = {}  # of this look
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
        """Silence takes nothing away from what was heard before."""
        before = self._known.get(_pair(prober, other))
        if round_trip_ms is None and before is not None and before.round_trip_ms is not None:
            return msgspec.structs.replace(before, at_s=now_s)
        silent_before = before is not None and before.one == other
        return HostRoundTrip(prober, other, round_trip_ms, now_s, silent_before)

    def _landmarks(self, connection: Connection, other: CrawlerId) -> list[Target]:
        """Where a host can be met: at its address, else at the site that is nearest to it."""
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
        place = self._strategy.place_of(target.address)
        record = self._strategy.measurements.of(place).get(crawler)
        return None if record is None else record.least_ms

    def _same_address(self, one: CrawlerId, other: CrawlerId) -> bool:
        profile = self._strategy.crawlers.profile
        return profile(one).address is not None and profile(one).address == profile(other).address

    # --- who asks whom --------------------------------------------------------

    def _due(self, prober: CrawlerId, now_s: float) -> list[CrawlerId]:
        """Partners that the asker is to ask now: of two, the one whose name comes first begins.

        Where that one sleeps, or heard nothing, the other tries. Who was answered asks the next time.
        """
        return [other for other in self._partners(prober) if self._is_due(prober, other, now_s)]

    def _is_due(self, prober: CrawlerId, other: CrawlerId, now_s: float) -> bool:
        known = self._known.get(_pair(prober, other))
        if known is None:
            return prober < other or not self._strategy.crawlers.is_awake(other)
        refresh_s = self._settings.acquaintance_seconds
        if known.round_trip_ms is not None:
            turn = known.one == prober or not self._strategy.crawlers.is_awake(known.one)
            return turn and now_s - known.at_s >= refresh_s
        others_turn = known.one != prober and not known.both_asked
        return others_turn or now_s - known.at_s >= refresh_s * RETRY_SHARE

    def _partners(self, crawler: CrawlerId) -> list[CrawlerId]:
        """All others; of too many, the neighbours on a ring of hashed names, whoever comes and goes."""
        ring, most = self._hash_ring(), self._settings.acquaintances_max
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

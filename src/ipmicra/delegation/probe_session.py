"""Probes of one target and their answers -> the fastest crawler, and those without an answer.

Invariant: no crawler is asked twice for a target, and none that is asleep or gone. An answer that cannot be a
round trip (negative, zero, not a number) counts as no answer. Every answer about the target is learnt.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping

from ipmicra.delegation.decision import Decision, DecisionStep, Why
from ipmicra.delegation.evidence.light_bounds import infeasible_pair
from ipmicra.delegation.strategy import Strategy
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, NoAnswer, Probe, ProbeAnswer, Target


class ProbeSession:
    """The probes of one target."""

    def __init__(self, strategy: Strategy, target: Target, now_s: float) -> None:
        self._strategy = strategy
        self.target = target
        self.now_s = now_s
        self.answers: dict[CrawlerId, ProbeAnswer] = {}
        self.recalled_ms: dict[CrawlerId, float] = {}
        self._known_ms: dict[CrawlerId, float] = {}
        self.steps: list[DecisionStep] = []
        self.near: (
            tuple[()] | tuple[CrawlerId, CrawlerId]
        ) = ()  # anycast: crawlers proven to be near to it

    def ask(self, crawler: CrawlerId) -> Generator[Probe, ProbeAnswer, float | None]:
        """Its round trip to the target; None if it cannot be asked or got no answer."""
        if crawler in self.recalled_ms:
            return self.recalled_ms[crawler]
        if crawler not in self.answers:
            if not self._may_be_asked(crawler):
                return None
            answer = _believable((yield Probe(crawler, self.target)))
            self.answers[crawler] = answer
            if answer.round_trip_ms is not None:
                self._known_ms[crawler] = answer.round_trip_ms
            self._learn(crawler, answer)
        return self.answers[crawler].round_trip_ms

    def ask_all(self) -> Generator[Probe, ProbeAnswer, None]:
        for crawler in self._strategy.crawlers.awake:
            yield from self.ask(crawler)

    def recall(self, age_max_s: float) -> None:
        """Use remembered round trips of the target's range as answers, if recent enough."""
        place = self._strategy.measured_range(self.target.address)
        for crawler, record in self._strategy.measurements.of(place).items():
            known_ms = None if record.silences_in_row else record.smoothed_ms
            if known_ms is not None and record.age_s(self.now_s) <= age_max_s:
                self.recalled_ms[crawler] = self._known_ms[crawler] = known_ms
        if self.recalled_ms:
            self.note("memory", ", ".join(f"{c} {ms:.1f} ms" for c, ms in self.recalled_ms.items()))

    def recalled_below(self, threshold_ms: float) -> CrawlerId | None:
        """The fastest remembered crawler, if it is awake and below the threshold."""
        awake = {c: ms for c, ms in self.recalled_ms.items() if self._may_be_asked(c)}
        best = min(awake, key=awake.__getitem__, default=None)
        return best if best is not None and awake[best] < threshold_ms else None

    def _may_be_asked(self, crawler: CrawlerId) -> bool:
        return self._strategy.crawlers.is_awake(crawler) and self._strategy.trust.trusts(crawler)

    def _learn(self, crawler: CrawlerId, answer: ProbeAnswer) -> None:
        if not answer.about_target:
            return
        self._strategy.learn(Measurement(crawler, self.target.address, answer.round_trip_ms, self.now_s))
        pair = infeasible_pair(self._strategy.crawlers, crawler, self.round_trips_ms())
        if pair:
            self._strategy.trust.on_contradiction(*pair)
            self.near = pair
            self.note("speed of light", f"{pair[0]} and {pair[1]} cannot both be this near to one place")
        elif len(self.answers) > 1:
            self._strategy.trust.on_agreement(crawler)

    def round_trips_ms(self) -> Mapping[CrawlerId, float]:
        """The known round trips: the remembered ones, then the answers in order of arrival."""
        return self._known_ms

    @property
    def silences(self) -> int:
        """Number of crawlers that were asked and got no answer from the target."""
        return sum(a.round_trip_ms is None and a.about_target for a in self.answers.values())

    def fastest(self) -> CrawlerId | None:
        """The fastest crawler that answered and is still awake; of equal ones the first."""
        awake = self._usable_ms()
        return min(awake, key=awake.__getitem__, default=None)

    def slowest(self) -> CrawlerId | None:
        awake = self._usable_ms()
        return max(awake, key=awake.__getitem__, default=None)

    def _usable_ms(self) -> dict[CrawlerId, float]:
        return {c: ms for c, ms in self.round_trips_ms().items() if self._may_be_asked(c)}

    def note(self, what: str, found: str) -> None:
        """A line of the explanation."""
        self.steps.append(DecisionStep(what, found))

    def decision(
        self, crawler: CrawlerId | None, why: Why, subnets: tuple[Subnet, ...] = ()
    ) -> Decision:
        """The result of the session."""
        return Decision(
            crawler=crawler,
            why=why,
            subnets=subnets,
            round_trip_ms=self.round_trips_ms().get(crawler) if crawler is not None else None,
            probes=tuple(self.answers.items()),
            steps=tuple(self.steps),
        )


def _believable(answer: ProbeAnswer) -> ProbeAnswer:
    value = answer.round_trip_ms
    if value is None or (math.isfinite(value) and value > 0):
        return answer
    return ProbeAnswer(None, NoAnswer.UNBELIEVABLE)

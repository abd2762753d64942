"""One target's questions and answers -> who was asked, who is fastest, who stays silent.

Law: no crawler is asked twice for a target, and none that sleeps or is gone. An answer that cannot be
a round trip (negative, zero, not a number) counts as silence. Every answer about the target is learnt.
"""

from __future__ import annotations

import math
from collections.abc import Generator

from ipmicra.delegation.decision import Decision, Step, Why
from ipmicra.delegation.light import contradicting
from ipmicra.delegation.probes import Answer, CrawlerId, Measurement, Probe, Silence, Target
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetId


class Inquiry:
    """The conversation about one target."""

    def __init__(self, strategy: Strategy, target: Target, now_s: float) -> None:
        self._strategy = strategy
        self._target = target
        self._now_s = now_s
        self.answers: dict[CrawlerId, Answer] = {}
        self.steps: list[Step] = []
        self.near: tuple[CrawlerId, ...] = ()  # anycast: crawlers proven to be near to it

    def ask(self, crawler: CrawlerId) -> Generator[Probe, Answer, float | None]:
        """Its round trip to the target; None where it cannot be asked or nothing came back."""
        if crawler not in self.answers:
            if not self._strategy.crawlers.is_awake(crawler):
                return None
            answer = _believable((yield Probe(crawler, self._target)))
            self.answers[crawler] = answer
            self._learn(crawler, answer)
        return self.answers[crawler].round_trip_ms

    def ask_all(self) -> Generator[Probe, Answer, None]:
        for crawler in self._strategy.crawlers.awake:
            yield from self.ask(crawler)

    def _learn(self, crawler: CrawlerId, answer: Answer) -> None:
        if not answer.about_target:
            return
        self._strategy.learn(
            Measurement(crawler, self._target.address, answer.round_trip_ms, self._now_s)
        )
        self.near = self.near or contradicting(self._strategy.crawlers, crawler, self.round_trips_ms())

    def round_trips_ms(self) -> dict[CrawlerId, float]:
        """The answers that came, in the order they came."""
        return {
            crawler: answer.round_trip_ms
            for crawler, answer in self.answers.items()
            if answer.round_trip_ms is not None
        }

    @property
    def silences(self) -> int:
        """How many crawlers asked and heard nothing from the target."""
        return sum(a.round_trip_ms is None and a.about_target for a in self.answers.values())

    def fastest(self) -> CrawlerId | None:
        """Of those who answered and are still awake the fastest; the earlier asked where equal."""
        awake = {c: ms for c, ms in self.round_trips_ms().items() if self._strategy.crawlers.is_awake(c)}
        return min(awake, key=awake.__getitem__, default=None)

    def slowest(self) -> CrawlerId | None:
        awake = {c: ms for c, ms in self.round_trips_ms().items() if self._strategy.crawlers.is_awake(c)}
        return max(awake, key=awake.__getitem__, default=None)

    def note(self, what: str, found: str) -> None:
        """A line of the explanation."""
        self.steps.append(Step(what, found))

    def decision(
        self, crawler: CrawlerId | None, why: Why, subnets: tuple[SubnetId, ...] = ()
    ) -> Decision:
        """The end of the conversation."""
        answer = self.answers.get(crawler) if crawler is not None else None
        return Decision(
            crawler=crawler,
            why=why,
            subnets=subnets,
            round_trip_ms=answer.round_trip_ms if answer is not None else None,
            probes=tuple(self.answers.items()),
            steps=tuple(self.steps),
        )


def _believable(answer: Answer) -> Answer:
    value = answer.round_trip_ms
    if value is None or (math.isfinite(value) and value > 0):
        return answer
    return Answer(None, Silence.UNBELIEVABLE)

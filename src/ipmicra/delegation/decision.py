"""The result of a strategy: the crawler of a target, the subnets delegated with it, and the reason.

Invariant: a decision names an awake crawler or none. `why` is for programs, `explanation()` for people.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import ProbeAnswer


class Why(StrEnum):
    """The rule that decided. The rules of the first group name a crawler, those of the second none."""

    ALREADY_DELEGATED = "already-delegated"
    SAME_ORGANISATION = "same-organisation"
    BELOW_THRESHOLD = "below-threshold"
    FASTEST_OF_ALL = "fastest-of-all"
    SLOWEST_OF_ALL = "slowest-of-all"
    DRAWN = "drawn"
    HASHED = "hashed"
    BELIEVED = "believed"
    ANYCAST = "anycast"

    UNREACHABLE = "unreachable"
    OWNER_ASLEEP = "owner-asleep"
    NO_CRAWLER_AWAKE = "no-crawler-awake"


IN_WORDS = {
    Why.ALREADY_DELEGATED: "its subnet is delegated already",
    Why.SAME_ORGANISATION: "another subnet of its organisation is delegated there",
    Why.BELOW_THRESHOLD: "a round trip below the threshold was found",
    Why.FASTEST_OF_ALL: "the fastest of all that answered",
    Why.SLOWEST_OF_ALL: "the slowest of all that answered, as requested",
    Why.DRAWN: "chosen at random",
    Why.HASHED: "the site's name hashes to it",
    Why.BELIEVED: "probably the nearest, and no further probe is worth its cost",
    Why.ANYCAST: "the address is anycast: near to several crawlers",
    Why.UNREACHABLE: "no crawler that was asked got an answer",
    Why.OWNER_ASLEEP: "the owner of its subnet is asleep; the site waits",
    Why.NO_CRAWLER_AWAKE: "no crawler is awake",
}


class DecisionStep:
    """One step of a decision: `what` names the rule, `found` its result.

    Most decisions are never explained, so a text that is expensive to make may be given as a function of
    values that cannot change any more; it is called on first use.
    """

    __slots__ = ("_found", "what")

    def __init__(self, what: str, found: str | Callable[[], str]) -> None:
        self.what = what
        self._found = found

    @property
    def found(self) -> str:
        if not isinstance(self._found, str):
            self._found = self._found()
        return self._found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DecisionStep) and (self.what, self.found) == (other.what, other.found)

    def __hash__(self) -> int:
        return hash((self.what, self.found))

    def __repr__(self) -> str:
        return f"Step({self.what!r}, {self.found!r})"


class Decision(msgspec.Struct, frozen=True):
    """The end of a delegation.

    `subnets` are delegated together, smallest first; empty if no subnet is known and the address is
    delegated alone. `round_trip_ms` is measured by the chosen crawler, or remembered.
    """

    crawler: CrawlerId | None
    why: Why
    subnets: tuple[Subnet, ...] = ()
    round_trip_ms: float | None = None
    probes: tuple[tuple[CrawlerId, ProbeAnswer], ...] = ()
    steps: tuple[DecisionStep, ...] = ()
    waits_for: CrawlerId | None = None  # the sleeping owner, with Why.OWNER_ASLEEP

    def explanation(self) -> str:
        """The decision in a few lines of plain text."""
        head = f"{self.crawler or self.waits_for or 'no crawler'}: {IN_WORDS[self.why]}"
        steps = [f"  {step.what}: {step.found}" for step in self.steps]
        probes = [f"  probe from {crawler}: {_in_words(answer)}" for crawler, answer in self.probes]
        return "\n".join([head, *steps, *probes])


def _in_words(answer: ProbeAnswer) -> str:
    if answer.round_trip_ms is None:
        return f"no answer ({answer.silence or 'reason unknown'})"
    return f"{answer.round_trip_ms:.1f} ms"

"""What one measurement brought: a round trip and the way it was taken, or why there is none."""

from __future__ import annotations

import msgspec

from ipmicra.model.fetches import FetchFailed, FetchOutcome, Timings
from ipmicra.model.probes import NoAnswer, ProbeAnswer
from ipmicra.probing.settings import ProbeMethod


def answer_ms(timings: Timings) -> float:
    """The round trip as an answer shows it, the server's thinking included.

    A connection that was opened for it cost one round trip before; on the way to a proxy that one was
    short, and the answer came so much later. Half of both together is right either way.
    """
    if timings.connect_ms is None:
        return timings.first_byte_ms
    return (timings.connect_ms + timings.first_byte_ms) / 2


def round_trip_in(outcome: FetchOutcome, by_answers: bool) -> float | None:
    """What a fetch shows of how far its address is: by the kernel's clock, or by the answer's."""
    if isinstance(outcome, FetchFailed):
        return None if by_answers else outcome.round_trip_ms
    return answer_ms(outcome.timings) if by_answers else outcome.timings.round_trip_ms


class ProbeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement, from here to one address."""

    method: ProbeMethod
    round_trip_ms: float | None = None
    silence: NoAnswer | None = None
    detail: str = ""  # for people, where there is no round trip

    def to_answer(self) -> ProbeAnswer:
        """As the delegation's strategies want it."""
        return ProbeAnswer(self.round_trip_ms, self.silence)

"""The result of one measurement: a round trip and its method, or the reason why there is none."""

from __future__ import annotations

import msgspec

from ipmicra.model.fetches import FetchFailed, FetchOutcome, Timings
from ipmicra.model.probes import NoAnswer, ProbeAnswer
from ipmicra.probing.settings import ProbeMethod


def answer_ms(timings: Timings) -> float:
    """The round trip as a response shows it, including the server's processing time.

    If a connection was opened for it, that cost one round trip before; with a proxy that one was short,
    and the response came later by as much. Half of both together is right in either case.
    """
    if timings.connect_ms is None:
        return timings.first_byte_ms
    return (timings.connect_ms + timings.first_byte_ms) / 2


def round_trip_in(outcome: FetchOutcome, by_answers: bool) -> float | None:
    """The round trip that a fetch shows: by the kernel, or by the response."""
    if isinstance(outcome, FetchFailed):
        return None if by_answers else outcome.round_trip_ms
    return answer_ms(outcome.timings) if by_answers else outcome.timings.round_trip_ms


class ProbeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement, from here to one address."""

    method: ProbeMethod
    round_trip_ms: float | None = None
    silence: NoAnswer | None = None
    detail: str = ""  # text for people, if there is no round trip

    def to_answer(self) -> ProbeAnswer:
        """In the form that delegation strategies use."""
        return ProbeAnswer(self.round_trip_ms, self.silence)

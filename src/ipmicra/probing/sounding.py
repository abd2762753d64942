"""What one measurement brought: a round trip and the way it was taken, or why there is none."""

from __future__ import annotations

import msgspec

from ipmicra.delegation.probes import Answer, Silence
from ipmicra.probing.settings import Way


class Sounding(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement, from here to one address."""

    way: Way
    round_trip_ms: float | None = None
    silence: Silence | None = None
    detail: str = ""  # for people, where there is no round trip

    def answer(self) -> Answer:
        """As the delegation's strategies want it."""
        return Answer(self.round_trip_ms, self.silence)

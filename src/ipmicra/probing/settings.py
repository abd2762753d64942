"""The knobs of probing. More tries cost packets and time, and take the noise out of the least of them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from ipmicra.setting_fields import setting_field

ProbeMethod: TypeAlias = Literal["passive", "connect", "head", "answer", "icmp"]


class ProbingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a round trip is measured when no fetch has measured it yet."""

    ways: Annotated[
        tuple[ProbeMethod, ...],
        setting_field("Ways to ask until one answers: connect, head, answer, icmp."),
    ] = ("connect", "icmp")
    patience_ms: Annotated[int, setting_field("How long one try may take.")] = 2_000
    tries: Annotated[int, setting_field("Tries of one way; the least round trip counts.")] = 1
    passive_seconds_max: Annotated[
        float, setting_field("A round trip seen by a fetch is as good as a probe for this long.")
    ] = 3_600.0
    passive_addresses_max: Annotated[
        int, setting_field("Addresses whose round trips are remembered; some 200 bytes each.")
    ] = 100_000

    @property
    def by_answers(self) -> bool:
        """Whether round trips are read off answers, since the kernel's would be a proxy's near by."""
        return self.ways[:1] == ("answer",)

    @property
    def asks_sites(self) -> bool:
        """Whether a site's server may be asked, not only its address."""
        return "head" in self.ways or "answer" in self.ways

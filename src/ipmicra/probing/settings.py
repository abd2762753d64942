"""Settings of probing. More tries cost packets and time, and remove noise from the smallest of them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from ipmicra.setting_fields import setting_field

ProbeMethod: TypeAlias = Literal["passive", "connect", "head", "answer", "icmp"]


class ProbingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a round trip is measured when no fetch has measured it yet."""

    ways: Annotated[
        tuple[ProbeMethod, ...],
        setting_field(
            "Probe methods in the order in which they are tried: connect, head, answer, icmp."
        ),
    ] = ("connect", "icmp")
    patience_ms: Annotated[int, setting_field("Timeout of one try, in milliseconds.")] = 2_000
    tries: Annotated[
        int, setting_field("Number of tries per method; the smallest round trip counts.")
    ] = 1
    passive_seconds_max: Annotated[
        float, setting_field("How long a round trip seen by a fetch replaces a probe, in seconds.")
    ] = 3_600.0
    passive_addresses_max: Annotated[
        int,
        setting_field(
            "Maximum number of addresses whose round trips are remembered; about 200 bytes each."
        ),
    ] = 100_000

    @property
    def by_answers(self) -> bool:
        """Whether round trips are taken from responses, since the kernel's would be that of a proxy
        near by.
        """
        return self.ways[:1] == ("answer",)

    @property
    def asks_sites(self) -> bool:
        """Whether a site's server may be asked, not only its address."""
        return "head" in self.ways or "answer" in self.ways

"""What a strategy asks for and receives: targets, probes, answers, measurements.

Invariant: plain values. A round trip is in milliseconds, a moment in seconds of the driver's clock; this
package only subtracts moments.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ipmicra.addresses import IPAddress
from ipmicra.model.ids import CrawlerId, SiteName


class Target(msgspec.Struct, frozen=True):
    """A site to be delegated, with the addresses its name has."""

    site: SiteName
    addresses: tuple[IPAddress, ...]

    @classmethod
    def of(cls, site: str, *addresses: IPAddress) -> Target:
        return cls(SiteName(site), addresses)

    @property
    def address(self) -> IPAddress:
        """The one the site is located by: the lowest, since DNS changes their order all the time."""
        if len(self.addresses) == 1:
            return self.addresses[0]
        return min(self.addresses, key=lambda address: (address.version, int(address)))


class Probe(msgspec.Struct, frozen=True):
    """A request: let this crawler measure its round trip to that target."""

    crawler: CrawlerId
    target: Target


class NoAnswer(StrEnum):
    """Why a probe brought no round trip."""

    TIMED_OUT = "timed-out"  # nothing came back in time
    REFUSED = "refused"  # a machine on the way refused at once
    UNBELIEVABLE = "unbelievable"  # what came back cannot be a round trip
    CRAWLER_ASLEEP = "crawler-asleep"  # outside the host's hours: says nothing about the target
    CRAWLER_GONE = "crawler-gone"  # says nothing about the target


class ProbeAnswer(msgspec.Struct, frozen=True):
    """The result of a probe: a round trip, or None and the reason."""

    round_trip_ms: float | None
    silence: NoAnswer | None = None

    @property
    def about_target(self) -> bool:
        """False where the crawler could not even ask."""
        return self.silence not in (NoAnswer.CRAWLER_ASLEEP, NoAnswer.CRAWLER_GONE)


class Source(StrEnum):
    ACTIVE = "active"  # a probe that was requested
    PASSIVE = "passive"  # a round trip an ordinary fetch had anyway


class Measurement(msgspec.Struct, frozen=True):
    """One round trip of a crawler to an address, or the lack of one."""

    crawler: CrawlerId
    address: IPAddress
    round_trip_ms: float | None
    at_s: float
    source: Source = Source.ACTIVE

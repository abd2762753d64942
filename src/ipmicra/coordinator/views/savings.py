"""Traffic and known round trips -> bytes times milliseconds, as measured and as they would be with hashing.

Hashing assigns a site to any crawler with equal probability, so its expected round trip is the mean over all
crawlers. A crawler that never measured the site counts with the mean of all round trips measured by crawlers
other than the owner. Crawlers mostly probe sites that are probably near to them, so this mean is too small
rather than too large, and the saving is underestimated.

Invariant: no I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ipmicra.coordinator.store.delegations import DelegationRow
from ipmicra.coordinator.store.traffic import SiteTraffic


class Savings(NamedTuple):
    """Bytes times milliseconds: as it was, and as hashing would have had it."""

    spent_byte_ms: float = 0.0
    hashed_byte_ms: float = 0.0

    @property
    def saved_byte_ms(self) -> float:
        return self.hashed_byte_ms - self.spent_byte_ms

    @property
    def saved_share(self) -> float | None:
        return self.saved_byte_ms / self.hashed_byte_ms if self.hashed_byte_ms else None


def savings(
    traffic: Iterable[SiteTraffic], decision_of: Mapping[str, DelegationRow], crawlers: Collection[str]
) -> Savings:
    """The savings; `decision_of` is by site. A site without known round trips is left out on both sides."""
    unmeasured_ms = _unmeasured_ms(decision_of.values())
    spent = hashed = 0.0
    for row in traffic:
        if not row.body_bytes or (delegation := decision_of.get(row.site)) is None:
            continue
        own_ms = _own_ms(row, delegation)
        others = [name for name in crawlers if name != row.crawler]
        known = _known_ms(delegation)
        away_ms = [known.get(name, unmeasured_ms) for name in others]
        known_values = [value for value in away_ms if value is not None]
        spent += row.body_bytes * own_ms
        hashed += row.body_bytes * (own_ms + sum(known_values)) / (1 + len(known_values))
    return Savings(spent, hashed)


def _own_ms(row: SiteTraffic, delegation: DelegationRow) -> float:
    """As probed, like the others' round trips; else as met by the fetches."""
    probed = _known_ms(delegation).get(row.crawler)
    return row.byte_ms / row.body_bytes if probed is None else probed


def _known_ms(delegation: DelegationRow) -> dict[str, float]:
    return {crawler: ms for crawler, ms, _ in delegation.reasons.probes if ms is not None}


def _unmeasured_ms(decisions: Iterable[DelegationRow]) -> float | None:
    seen = {(delegation.reasons.site, delegation.decided_s): delegation for delegation in decisions}
    away = [
        ms
        for delegation in seen.values()
        for crawler, ms in _known_ms(delegation).items()
        if crawler != delegation.crawler
    ]
    return sum(away) / len(away) if away else None

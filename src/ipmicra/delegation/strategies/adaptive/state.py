"""The learnt state of `adaptive` -> plain records that outlive the process, and back.

Addresses and ranges, not numbers of a tree: facts are looked up in the tree that is loaded when the
records are restored. Crawlers that have left by then are dropped; new ones are estimated from their
neighbours.

Invariant: delegations and measurements are not in here; they are stored elsewhere.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ipmicra.addresses import AddressRange
from ipmicra.delegation.strategies.adaptive.arrays import Floats
from ipmicra.delegation.strategies.adaptive.facts import facts_of
from ipmicra.delegation.strategies.adaptive.mutual import filled
from ipmicra.model.ids import CrawlerId

if TYPE_CHECKING:
    from ipmicra.delegation.strategies.adaptive.strategy import Adaptive


class SiteExample(msgspec.Struct, frozen=True):
    """One past site: round trips to the crawlers of the state, in its order, and their doubts, for someone
    alike and for a twin (where none are written, the same)."""

    address: str
    values_ms: list[float]
    doubts_ms: list[float]
    twin_doubts_ms: list[float] = []


class SubnetCount(msgspec.Struct, frozen=True):
    """The number of probed sites of a subnet that went to a crawler."""

    subnet: str
    counts: dict[CrawlerId, int]


class AdaptiveState(msgspec.Struct, frozen=True):
    """Everything learnt; `crawlers` names the columns of the examples."""

    crawlers: list[CrawlerId]
    sites: list[SiteExample]
    subnets: list[SubnetCount]
    ties_right: list[float]
    ties_chances: list[float]
    spread_factors: list[float]
    spreads_seen: list[float]
    shift_variance: float
    shifts_seen: float
    twins: float
    twins_seen: float


def state_of(strategy: Adaptive) -> AdaptiveState:
    """The oldest example first."""
    experience, spreads = strategy.experience, strategy.spreads
    rows = experience.remembered()
    values, doubts = experience.examples.of_sites()
    return AdaptiveState(
        crawlers=[profile.id for profile in experience.mutual.profiles],
        sites=[SiteExample(str(a), values[row].tolist(), *doubts[row].tolist()) for a, row in rows],
        subnets=[SubnetCount(str(s), dict(counts)) for s, counts in strategy.agreement.counts.items()],
        ties_right=list(strategy.ties.right),
        ties_chances=list(strategy.ties.chances),
        spread_factors=list(spreads.factors),
        spreads_seen=list(spreads.seen),
        shift_variance=spreads.shift_variance,
        shifts_seen=spreads.shifts_seen,
        twins=spreads.twins,
        twins_seen=spreads.twins_seen,
    )


def restore(strategy: Adaptive, state: AdaptiveState) -> None:
    """Restore into a strategy that has its crawlers and has learnt nothing yet."""
    spreads = strategy.spreads
    strategy.ties.right, strategy.ties.chances = list(state.ties_right), list(state.ties_chances)
    spreads.factors, spreads.seen = list(state.spread_factors), list(state.spreads_seen)
    spreads.shift_variance, spreads.shifts_seen = state.shift_variance, state.shifts_seen
    spreads.twins, spreads.twins_seen = state.twins, state.twins_seen
    for subnet in state.subnets:
        present = {c: count for c, count in subnet.counts.items() if c in strategy.crawlers}
        if len(present) == len(subnet.counts):
            strategy.agreement.set(AddressRange.parse(subnet.subnet), present)
    for site in state.sites:
        address = ipaddress.ip_address(site.address)
        values, doubts = _as_columns(strategy, state.crawlers, site)
        strategy.experience.remember(address, facts_of(address, strategy.tree), values, doubts)


def _as_columns(
    strategy: Adaptive, crawlers: list[CrawlerId], site: SiteExample
) -> tuple[Floats, Floats]:
    """The example's entries under the crawlers of now; newcomers' entries as their neighbours'."""
    mutual = strategy.experience.mutual
    values, doubts = np.full(len(mutual), np.nan), np.zeros((len(mutual), 2))
    twin_doubts_ms = site.twin_doubts_ms or site.doubts_ms
    entries = zip(crawlers, site.values_ms, site.doubts_ms, twin_doubts_ms, strict=True)
    for crawler, value, *both in entries:
        if (column := mutual.column.get(crawler)) is not None:
            values[column], doubts[column] = value, both
    whole, unsure = filled(values[None, :], mutual.round_trips_ms)
    return whole[0], np.maximum(doubts, unsure[0][:, None])

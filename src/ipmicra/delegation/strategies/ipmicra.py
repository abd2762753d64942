"""IPMicra as published: the registries' tree points to crawlers worth asking.

The smallest subnet's owner; else the crawlers that hold the same organisation's subnets; else climb the
tree and probe the crawlers that hold near subnets; stop below the threshold; the fastest when all were
asked. Sections 4.2 and 4.3 of the IPMicra paper, III.E of the later one. Where they are silent or
disagree: `docs/explanation/ipmicra-algorithm.md`.

Invariant: the papers' rules and no cleverness. Improvements go into `adaptive`.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from typing import Literal

import msgspec

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Why
from ipmicra.delegation.delegations import Delegations, DelegationUnit
from ipmicra.delegation.holder_index import LEVELS, HolderIndex
from ipmicra.delegation.probe_session import ProbeSession
from ipmicra.delegation.strategies.learning_strategy import LearningStrategy
from ipmicra.delegation.strategy import Delegating
from ipmicra.delegation.subnets import (
    UNKNOWN_ORGANISATION,
    SubnetLookup,
    known_subnet,
    subnets_together,
)
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, ProbeAnswer, Target


class IPMicraSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`organisation`: what it is worth that another subnet of the same organisation is delegated.

    `inherit`: take its crawler unasked (IPMicra paper, 4.3). `confirm`: only below the threshold (the
    later paper, III.E). Where several crawlers hold the organisation's, both rules ask them.
    """

    threshold: float = 50.0  # ms; lower: nearer crawlers, more probes
    organisation: Literal["inherit", "confirm"] = "confirm"
    remember_s: float = 7 * 86400.0  # how old a remembered result may be; longer: fewer probes, staler
    silent_probes_max: int = 3  # higher: more probes wasted on the dead, fewer given up too early
    retry_after_s: float = 3600.0  # shorter: more probes wasted on the dead


class IPMicra(LearningStrategy):
    """Delegates subnets, lazily: each when the first of its sites turns up."""

    def __init__(self, tree: SubnetLookup, rng: random.Random, settings: IPMicraSettings) -> None:
        super().__init__(tree, rng, settings.silent_probes_max, settings.retry_after_s)
        self._settings = settings
        self._neighbours = HolderIndex(tree)
        self.delegations = Delegations(self._neighbours)

    def on_crawler_joined(self, profile: CrawlerProfile) -> None:
        """The subnet its host stands in is the crawler's own from the start (4.1)."""
        super().on_crawler_joined(profile)
        if profile.address is not None:
            for subnet in subnets_together(self.tree, profile.address):
                if self.delegations.owner(subnet) is None:
                    self.give(subnet, profile.id)

    def measured_range(self, address: IPAddress) -> AddressRange:
        """Round trips are remembered for the smallest subnet that is more than one address."""
        subnet = known_subnet(self.tree, address)
        return super().measured_range(address) if subnet is None else self.tree.range_of(subnet)

    def owner_of(self, target: Target) -> CrawlerId | None:
        owner = self.delegations.owner(self.tree.smallest(target.address))
        return super().owner_of(target) if owner is None else owner

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        smallest = self.tree.smallest(target.address)
        owner = self.delegations.owner(smallest)
        if owner is not None and not afresh:  # by far the most frequent case, so it comes first
            return self.keep_owner(owner, smallest)
        subnets = subnets_together(self.tree, target.address)
        units: tuple[DelegationUnit, ...] = subnets or (target.address,)
        if not afresh and (settled := self.existing_decision(target, units, now_s)) is not None:
            return settled
        session = ProbeSession(self, target, now_s)
        if not afresh:
            session.recall(self._settings.remember_s)
        chosen, why = yield from self._search(session, subnets[-1] if subnets else None)
        return self.conclude(session, chosen, why, units)

    def _search(
        self, session: ProbeSession, subnet: Subnet | None
    ) -> Generator[Probe, ProbeAnswer, tuple[CrawlerId | None, Why]]:
        threshold_ms = self._settings.threshold
        if (known := session.recalled_below(threshold_ms)) is not None:
            return known, Why.BELOW_THRESHOLD
        if subnet is not None:
            chosen = yield from self._of_organisation(session, subnet)
            if chosen is not None:
                return chosen, Why.SAME_ORGANISATION
            chosen = yield from self._climb(session, subnet)
            if chosen is not None:
                return chosen, Why.BELOW_THRESHOLD
        rest = self.rng.sample(self.crawlers.awake, len(self.crawlers.awake))
        chosen = yield from self.first_below(session, rest, threshold_ms)
        if chosen is not None:
            return chosen, Why.BELOW_THRESHOLD
        return session.fastest(), Why.FASTEST_OF_ALL

    def _of_organisation(
        self, session: ProbeSession, subnet: Subnet
    ) -> Generator[Probe, ProbeAnswer, CrawlerId | None]:
        organisation = self.tree.organisation_of(subnet)
        if organisation == UNKNOWN_ORGANISATION:
            return None
        holders = self.delegations.holders_of_organisation(organisation)
        awake = [crawler for crawler in holders if self.crawlers.is_awake(crawler)]
        session.note("organisation", f"{self.tree.organisation_name(organisation)}: {_listed(awake)}")
        if len(awake) == 1 and self._settings.organisation == "inherit":
            return awake[0]
        return (yield from self.first_below(session, awake, self._settings.threshold))

    def _climb(
        self, session: ProbeSession, subnet: Subnet
    ) -> Generator[Probe, ProbeAnswer, CrawlerId | None]:
        for level, crawlers in self._around(subnet):
            if len(session.answers) >= len(self.crawlers.awake) or self.is_pointless(session):
                return None
            if crawlers:
                session.note("climb", f"{level}: {_listed(crawlers)}")
            chosen = yield from self.first_below(session, crawlers, self._settings.threshold)
            if chosen is not None:
                return chosen
        return None

    def _around(self, subnet: Subnet) -> Iterator[tuple[str, list[CrawlerId]]]:
        """The crawlers to probe, step by step: holders of its children (the worked example of 4.3), then
        of the parent, the siblings and the siblings' children, then the same one level up.
        """
        yield f"children of {self.tree.range_of(subnet)}", self._neighbours.holding_below(subnet, 1)
        above = self.tree.parent(subnet)
        while above is not None:
            owner = self.delegations.owner(above)
            yield f"parent {self.tree.range_of(above)}", [owner] if owner is not None else []
            for level in range(1, LEVELS + 1):
                name = f"{level} below {self.tree.range_of(above)}"
                yield name, self._neighbours.holding_below(above, level)
            above = self.tree.parent(above)


def _listed(crawlers: list[CrawlerId]) -> str:
    return ", ".join(crawlers) or "nobody"

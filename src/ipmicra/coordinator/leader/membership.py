"""Hosts that join, sleep and leave -> updates of the strategy, and the units that change owner as a result.

A new crawler owns its own subnet from the start, and probes units of others that may be nearer to it. The
units of a crawler that leaves go to the nearest known crawler, or wait until one of their sites is
delegated again.

Invariant: a join or a leave moves nothing between two crawlers that stay.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, select

from ipmicra.coordinator.assignment import release
from ipmicra.coordinator.leader.decision_batch import DecisionBatch, target_of
from ipmicra.coordinator.leader.probe_dispatcher import ProbeDispatcher
from ipmicra.coordinator.store import delegations, orders, sites
from ipmicra.coordinator.store.delegations import DecisionReasons
from ipmicra.coordinator.store.liveness import present_crawlers
from ipmicra.coordinator.store.sql.schema import site_table
from ipmicra.coordinator.store.unit_codec import unit_text
from ipmicra.delegation.churn import NewcomerOffer, offer_to_newcomer, reassign_from_leaver
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import known_subnet
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Target

TARGETS_MAX = 5_000  # sites considered for a newcomer

OWN_SUBNET = DecisionReasons(why="own-subnet", words="the crawler's own host is in it", strategy="")
INHERITED = DecisionReasons(
    why="inherited", words="the nearest by earlier measurements, after its crawler had left", strategy=""
)
NEWCOMER = DecisionReasons(why="newcomer", words="a new crawler is nearer by its own probe", strategy="")


class Membership:
    """Keeps the crawlers of one strategy equal to the present hosts."""

    def __init__(self, strategy: Strategy, decisions: DecisionBatch) -> None:
        self._strategy, self._decisions = strategy, decisions

    def load(self, connection: Connection, now_s: float) -> None:
        """At the start of a term: load present crawlers and delegations; release sites of absent crawlers."""
        for profile in present_crawlers(connection, now_s).values():
            self._strategy.on_crawler_joined(profile)
        delegations.load_delegations(connection, self._strategy)
        owners = connection.execute(select(site_table.c.crawler).distinct()).scalars()
        for owner in list(owners):
            if owner is not None and owner not in self._strategy.crawlers:
                _release_everything(connection, owner, now_s)
        for crawler in self._strategy.crawlers.all:
            self._give_own_subnet(connection, crawler, now_s)

    def refresh(self, connection: Connection, now_s: float) -> list[CrawlerId]:
        """Update the strategy with all changes. Returns the new crawlers."""
        here = present_crawlers(connection, now_s)
        known = set(self._strategy.crawlers.all)
        for crawler in sorted(known - here.keys()):
            self._remove(connection, crawler, now_s)
        newcomers = []
        for crawler, profile in here.items():
            if crawler not in known:
                self._strategy.on_crawler_joined(profile)
                self._give_own_subnet(connection, crawler, now_s)
                newcomers.append(crawler)
            else:
                self._update(profile)
        return newcomers

    def probe_for_newcomer(
        self,
        connection: Connection,
        newcomer: CrawlerId,
        dispatcher: ProbeDispatcher,
        probes_max: int,
        now_s: float,
    ) -> None:
        """Have a new crawler probe units of others, and give it those that it is nearest to."""

        def on_finished(connection: Connection, offered: NewcomerOffer) -> None:
            units = [unit for unit, _, _ in offered.taken]
            self._decisions.write_and_release(connection, units, NEWCOMER, now_s)

        targets = self._targets(connection)
        task = offer_to_newcomer(self._strategy, newcomer, targets, now_s, probes_max=probes_max)
        dispatcher.submit(connection, task, on_finished)

    def _targets(self, connection: Connection) -> dict[DelegationUnit, Target]:
        """For each delegated unit, a site to probe."""
        targets = map(target_of, sites.delegated_anywhere(connection, TARGETS_MAX))
        return {self._strategy.unit_of(target): target for target in targets}

    def _update(self, profile: CrawlerProfile) -> None:
        before = self._strategy.crawlers.profile(profile.id)
        if msgspec.structs.replace(before, awake=profile.awake) != profile:
            self._strategy.on_crawler_joined(profile)
        elif before.awake != profile.awake:
            changed = (
                self._strategy.on_crawler_woke if profile.awake else self._strategy.on_crawler_slept
            )
            changed(profile.id)

    def _remove(self, connection: Connection, crawler: CrawlerId, now_s: float) -> None:
        units = [inherited.unit for inherited in reassign_from_leaver(self._strategy, crawler)]
        self._decisions.add_delegations(units, INHERITED)
        _release_everything(connection, crawler, now_s)

    def _give_own_subnet(self, connection: Connection, crawler: CrawlerId, now_s: float) -> None:
        """Some strategies do this themselves; it is written in any case."""
        unit = self._own_unit(crawler)
        if unit is None:
            return
        owner = self._strategy.delegations.owner(unit)
        text = unit_text(self._strategy.tree, unit)
        if owner == crawler and text in delegations.delegation_rows(connection, [text]):
            return
        if owner is None or owner == crawler or self._own_unit(owner) != unit:
            self._strategy.give(unit, crawler)
            self._decisions.write_and_release(connection, [unit], OWN_SUBNET, now_s)

    def _own_unit(self, crawler: CrawlerId) -> DelegationUnit | None:
        address = self._strategy.crawlers.profile(crawler).address
        if address is None:
            return None
        subnet = known_subnet(self._strategy.tree, address)
        return address if subnet is None else subnet


def _release_everything(connection: Connection, crawler: str, now_s: float) -> None:
    release.release_all(connection, crawler)
    orders.cancel_all(connection, crawler, now_s)

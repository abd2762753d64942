"""The leader's round: hosts followed, reports read, sites delegated, what moves moved.

    while running: delegator.tick(now_s)

Law: everything that is written in a round is written in one transaction, in which the office is held. A
round that fails forgets what it had in memory; the next one makes it again from the rows.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from ipmicra.addresses import IPAddress
from ipmicra.coordinator.assignment import assigner, heartbeats, release
from ipmicra.coordinator.ingest import cross_check
from ipmicra.coordinator.leader.checkpoint import LeaderCheckpoint
from ipmicra.coordinator.leader.decision_batch import DecisionBatch
from ipmicra.coordinator.leader.host_mesh import HostMesh
from ipmicra.coordinator.leader.lease_monitor import LeaseMonitor
from ipmicra.coordinator.leader.membership import Membership
from ipmicra.coordinator.leader.operator_moves import OperatorMoves
from ipmicra.coordinator.leader.probe_dispatcher import ProbeDispatcher
from ipmicra.coordinator.leader.probe_rate_limit import ProbeRateLimit
from ipmicra.coordinator.leader.recalibration import Recalibrator
from ipmicra.coordinator.leader.site_resolver import ResolveResult
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import events, hosts, sites
from ipmicra.coordinator.store.database import Database
from ipmicra.coordinator.store.delegations import reasons_of
from ipmicra.coordinator.store.leader_lease import LeaderLease, acquire_or_renew, resign
from ipmicra.coordinator.store.sites import SiteRow
from ipmicra.coordinator.views import crawlers
from ipmicra.delegation.decision import IN_WORDS, Decision, Why
from ipmicra.delegation.registry import strategy_named
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup, known_subnet
from ipmicra.model.probes import Target

OFFICE = "delegation"
LINKS_A_ROUND = 5_000
LIVES_SECONDS = 1.0  # between two looks at what state every crawler is in
FASTER_THAN_LIGHT = "its round trips and several other hosts' cannot all be true: light is not that fast"

_log = logging.getLogger(__name__)

LookUp = Callable[[Iterable[str]], dict[str, ResolveResult]]


@dataclass
class LeaderState:
    """What a leader has in memory while it holds the office."""

    office: LeaderLease
    strategy: Strategy
    talks: ProbeDispatcher
    book: DecisionBatch
    crowd: Membership
    watching: Recalibrator
    acquaintance: HostMesh
    keepsakes: LeaderCheckpoint
    leases: LeaseMonitor
    moving_on: OperatorMoves
    lives_noted_s: float = 0.0


class LeaderLoop:
    """Delegates while it is the leader, and waits while another replica is."""

    def __init__(
        self,
        database: Database,
        tree: SubnetLookup,
        settings: CoordinatorSettings,
        look_up: LookUp,
        name: str,
        seed: int = 0,
    ) -> None:
        self._database = database
        self._tree = tree
        self._settings = settings
        self._look_up = look_up
        self._name = name
        self._seed = seed
        self._caps = ProbeRateLimit(
            settings.probes_per_second_max, settings.probes_per_target_an_hour_max
        )
        self._under_way: dict[str, Target] = {}
        self.desk: LeaderState | None = None
        self._new_strategy()  # a wrong setting is noticed here, not in office

    @property
    def leads(self) -> bool:
        return self.desk is not None

    def tick(self, now_s: float) -> bool:
        """One round. True where this replica is the leader."""
        try:
            with self._database.begin() as connection:
                desk = self._in_office(connection, now_s)
                waiting = [] if desk is None else self._round(connection, desk, now_s)
            if desk is None or not waiting:
                return desk is not None
            found = self._look_up(site.name for site in waiting)
            with self._database.begin() as connection:
                if (desk := self._in_office(connection, now_s)) is not None:
                    self._begin(connection, desk, waiting, found, now_s)
        except BaseException:
            self._forget()
            raise
        return self.leads

    def lay_down(self, now_s: float) -> None:
        """End the office in good order, so that the next need not wait."""
        if (desk := self.desk) is not None:
            with self._database.begin() as connection:
                desk.keepsakes.save(connection, now_s)
                resign(connection, desk.office)
            self._forget()

    # --- the office -----------------------------------------------------------

    def _in_office(self, connection: Connection, now_s: float) -> LeaderState | None:
        office = acquire_or_renew(connection, OFFICE, self._name, now_s, self._settings.leader_seconds)
        if office is None:
            self._forget()
        elif self.desk is None or self.desk.office.epoch != office.epoch:
            self._forget()
            self.desk = self._new_desk(connection, office, now_s)
        else:
            self.desk.office = office
        return self.desk

    def _new_desk(self, connection: Connection, office: LeaderLease, now_s: float) -> LeaderState:
        strategy = self._new_strategy()
        talks = ProbeDispatcher(lambda: strategy.crawlers, self._caps, self._settings.probe_seconds_max)
        hosts.prolong_leases(connection, now_s, self._settings.lease_seconds)
        book = DecisionBatch(strategy)
        crowd = Membership(strategy, book)
        watching = Recalibrator(strategy, book, self._settings)
        acquaintance = HostMesh(strategy, self._settings)
        keepsakes = LeaderCheckpoint(self._settings.strategy, strategy, watching, acquaintance)
        crowd.gather(connection, now_s)
        keepsakes.recall(connection, now_s)
        _log.info(
            "leading the delegation", extra={"epoch": office.epoch, "crawlers": len(strategy.crawlers)}
        )
        leases, moving_on = LeaseMonitor(self._settings.lease_seconds), OperatorMoves(strategy, book)
        return LeaderState(
            office, strategy, talks, book, crowd, watching, acquaintance, keepsakes, leases, moving_on
        )

    def _new_strategy(self) -> Strategy:
        dice = random.Random(self._seed)  # noqa: S311 - fair, not secret
        return strategy_named(self._settings.strategy, self._tree, dice)

    def _forget(self) -> None:
        if self.desk is not None:
            self.desk.talks.abandon()
        self.desk = None
        self._under_way.clear()

    # --- a round --------------------------------------------------------------

    def _round(self, connection: Connection, desk: LeaderState, now_s: float) -> list[SiteRow]:
        """All that needs no name looked up. Returns the sites that do."""
        desk.leases.look(connection, now_s)
        for newcomer in desk.crowd.follow(connection, now_s):
            events.note(connection, "crawler-joined", newcomer, "", now_s)
            desk.crowd.offer(connection, newcomer, desk.talks, self._settings.newcomer_probes_max, now_s)
        desk.moving_on.carry_on(connection, now_s)
        for heard in heartbeats.read_passives(connection):
            if (look := desk.watching.hear(heard, now_s)) is not None:
                desk.watching.look(connection, look, desk.talks, now_s)
        desk.watching.balance(connection, desk.talks, now_s)
        desk.acquaintance.ask(connection, desk.talks, now_s)
        desk.talks.go_on(connection, now_s)
        self._end_liars(connection, desk, now_s)
        cross_check.ask(connection, now_s)
        desk.book.write(connection, now_s)
        release.end_releases(connection, now_s, self._settings.release_seconds_max)
        assigner.send_links(connection, now_s, LINKS_A_ROUND, self._settings.links_per_order_max)
        desk.keepsakes.save_if_due(connection, now_s)
        if not 0 <= now_s - desk.lives_noted_s < LIVES_SECONDS:
            crawlers.follow(connection, now_s)
            desk.lives_noted_s = now_s
        return self._waiting(connection, desk, now_s)

    def _end_liars(self, connection: Connection, desk: LeaderState, now_s: float) -> None:
        """Whose round trips cannot be true, against several others: light is not that fast."""
        for liar in desk.strategy.trust.distrusted:
            cross_check.revoke(connection, liar, FASTER_THAN_LIGHT, now_s)

    def _waiting(self, connection: Connection, desk: LeaderState, now_s: float) -> list[SiteRow]:
        room = self._settings.sites_at_once_max - len(self._under_way)
        if room <= 0 or not desk.strategy.crawlers.awake:
            return []
        most = room + len(self._under_way)
        rows = sites.pending_assignment(connection, now_s, self._settings.retry_seconds, most)
        return [row for row in rows if row.name not in self._under_way][:room]

    # --- sites ----------------------------------------------------------------

    def _begin(
        self,
        connection: Connection,
        desk: LeaderState,
        waiting: list[SiteRow],
        found: Mapping[str, ResolveResult],
        now_s: float,
    ) -> None:
        busy = {self._place(target.address) for target in self._under_way.values()}
        for site in waiting:
            addresses = found[site.name]
            if isinstance(addresses, str):
                desk.book.unreachable(site, addresses)
                continue
            target = Target.of(site.name, *_same_address(site, addresses))
            if (place := self._place(target.address)) not in busy:
                self._delegate(connection, desk, site, target, now_s)
                if site.name in self._under_way:
                    busy.add(place)
        desk.talks.go_on(connection, now_s)
        desk.book.write(connection, now_s)

    def _place(self, address: IPAddress) -> object:
        """Sites of one place are delegated one after the other: the first may decide for the rest."""
        subnet = known_subnet(self._tree, address)
        return address if subnet is None else subnet

    def _delegate(
        self, connection: Connection, desk: LeaderState, site: SiteRow, target: Target, now_s: float
    ) -> None:
        self._under_way[site.name] = target

        def ended(connection: Connection, decision: Decision) -> None:
            self._under_way.pop(site.name, None)
            self._decided(desk, site, target, decision)

        desk.talks.begin(connection, desk.strategy.delegate(target, now_s), ended)

    def _decided(self, desk: LeaderState, site: SiteRow, target: Target, decision: Decision) -> None:
        crawler = decision.crawler or decision.waits_for
        if crawler is None:
            is_final = decision.why is Why.UNREACHABLE
            (desk.book.unreachable if is_final else desk.book.still_waits)(site, IN_WORDS[decision.why])
            return
        if decision.why not in (Why.ALREADY_DELEGATED, Why.OWNER_ASLEEP):
            reasons = reasons_of(decision, self._settings.strategy, site.name)
            ground = desk.strategy.ground_of(target)
            desk.book.delegated((ground, target.address, *decision.subnets), reasons)
        desk.book.located(site, target, crawler)


def _same_address(site: SiteRow, addresses: tuple[IPAddress, ...]) -> tuple[IPAddress, ...]:
    """The address it was located by before, while the name still has it."""
    before = tuple(address for address in addresses if str(address) == site.address)
    return before or addresses

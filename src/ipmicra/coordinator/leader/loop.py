"""The state of hosts, reports and sites -> one leader round: membership, measurements, delegations, releases.

    while running: leader_loop.tick(now_s)

Invariant: all writes of a round are in one transaction in which the leader lease is held. A round that fails
drops the leader's memory; the next round rebuilds it from the rows.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
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
from ipmicra.coordinator.leader.retention import Retention
from ipmicra.coordinator.leader.site_resolver import ResolveResult, SiteLookups
from ipmicra.coordinator.metrics import DECISION_PROBES, DECISIONS
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import events, hosts, sites
from ipmicra.coordinator.store.delegations import reasons_of
from ipmicra.coordinator.store.leader_lease import LeaderLease, acquire_or_renew, resign
from ipmicra.coordinator.store.sites import SiteRow
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.views import crawlers
from ipmicra.delegation.decision import IN_WORDS, Decision, Why
from ipmicra.delegation.registry import strategy_named
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup, known_subnet
from ipmicra.model.probes import Target

LEASE_NAME = "delegation"
LINKS_PER_ROUND = 5_000
STATES_SECONDS = 1.0  # between two updates of the crawlers' recorded states
FASTER_THAN_LIGHT = (
    "its round trips contradict those of several other hosts: they would need signals faster than light"
)

_log = logging.getLogger(__name__)


@dataclass
class LeaderState:
    """The leader's memory while it holds the lease."""

    lease: LeaderLease
    strategy: Strategy
    dispatcher: ProbeDispatcher
    decisions: DecisionBatch
    membership: Membership
    recalibrator: Recalibrator
    mesh: HostMesh
    checkpoint: LeaderCheckpoint
    lease_monitor: LeaseMonitor
    operator_moves: OperatorMoves
    states_recorded_s: float = 0.0


class LeaderLoop:
    """Delegates sites while this replica is the leader; otherwise waits for the lease."""

    def __init__(
        self,
        database: Database,
        tree: SubnetLookup,
        settings: CoordinatorSettings,
        lookups: SiteLookups,
        name: str,
        seed: int = 0,
    ) -> None:
        self._database = database
        self._tree = tree
        self._settings = settings
        self._lookups = lookups
        self._name = name
        self._seed = seed
        self._rate_limit = ProbeRateLimit(
            settings.probes_per_second_max, settings.probes_per_target_an_hour_max
        )
        self._retention = Retention(settings)
        self._looked_up: dict[str, SiteRow] = {}  # whose look-up has begun
        self._under_way: dict[str, Target] = {}
        self.state: LeaderState | None = None
        self._new_strategy()  # reports an invalid setting at start

    @property
    def is_leader(self) -> bool:
        return self.state is not None

    def tick(self, now_s: float) -> bool:
        """Run one round. True if this replica is the leader."""
        try:
            with self._database.begin() as connection:
                state = self._hold_lease(connection, now_s)
                waiting = [] if state is None else self._round(connection, state, now_s)
            self._begin_lookups(waiting)
            found = self._lookups.take_ended()
            if state is None or not found:
                return state is not None
            with self._database.begin() as connection:
                if (state := self._hold_lease(connection, now_s)) is not None:
                    self._start_delegations(connection, state, found, now_s)
        except BaseException:
            self._drop_state()
            raise
        return self.is_leader

    def resign(self, now_s: float) -> None:
        """Save a checkpoint and give up the lease, so that the next leader does not wait."""
        if (state := self.state) is not None:
            with self._database.begin() as connection:
                state.checkpoint.save(connection, now_s)
                resign(connection, state.lease)
            self._drop_state()

    # --- the leader lease -----------------------------------------------------

    def _hold_lease(self, connection: Connection, now_s: float) -> LeaderState | None:
        lease = acquire_or_renew(
            connection, LEASE_NAME, self._name, now_s, self._settings.leader_seconds
        )
        if lease is None:
            self._drop_state()
        elif self.state is None or self.state.lease.epoch != lease.epoch:
            self._drop_state()
            self.state = self._new_state(connection, lease, now_s)
        else:
            self.state.lease = lease
        return self.state

    def _new_state(self, connection: Connection, lease: LeaderLease, now_s: float) -> LeaderState:
        strategy = self._new_strategy()
        dispatcher = ProbeDispatcher(
            lambda: strategy.crawlers, self._rate_limit, self._settings.probe_seconds_max
        )
        hosts.prolong_leases(connection, now_s, self._settings.lease_seconds)
        decisions = DecisionBatch(strategy)
        membership = Membership(strategy, decisions)
        recalibrator = Recalibrator(strategy, decisions, self._settings)
        mesh = HostMesh(strategy, self._settings)
        checkpoint = LeaderCheckpoint(self._settings.strategy, strategy, recalibrator, mesh)
        membership.load(connection, now_s)
        checkpoint.restore(connection, now_s)
        _log.info(
            "leading the delegation", extra={"epoch": lease.epoch, "crawlers": len(strategy.crawlers)}
        )
        leases, operator_moves = (
            LeaseMonitor(self._settings.lease_seconds),
            OperatorMoves(strategy, decisions),
        )
        return LeaderState(
            lease,
            strategy,
            dispatcher,
            decisions,
            membership,
            recalibrator,
            mesh,
            checkpoint,
            leases,
            operator_moves,
        )

    def _new_strategy(self) -> Strategy:
        dice = random.Random(self._seed)  # noqa: S311 - fair, not secret
        return strategy_named(self._settings.strategy, self._tree, dice)

    def _drop_state(self) -> None:
        if self.state is not None:
            self.state.dispatcher.cancel_all()
        self.state = None
        self._looked_up.clear()
        self._under_way.clear()

    # --- a round --------------------------------------------------------------

    def _round(self, connection: Connection, state: LeaderState, now_s: float) -> list[SiteRow]:
        """Everything that needs no DNS. Returns the sites whose names are to be looked up."""
        state.lease_monitor.check(connection, now_s)
        for newcomer in state.membership.refresh(connection, now_s):
            events.record(connection, events.EventKind.CRAWLER_JOINED, newcomer, "", now_s)
            state.membership.probe_for_newcomer(
                connection, newcomer, state.dispatcher, self._settings.newcomer_probes_max, now_s
            )
        state.operator_moves.advance(connection, now_s)
        for heard in heartbeats.read_passives(connection):
            if (look := state.recalibrator.observe(heard, now_s)) is not None:
                state.recalibrator.recheck(connection, look, state.dispatcher, now_s)
        state.recalibrator.balance(connection, state.dispatcher, now_s)
        state.mesh.probe_due_pairs(connection, state.dispatcher, now_s)
        state.dispatcher.advance(connection, now_s)
        self._revoke_liars(connection, state, now_s)
        cross_check.send_checks(connection, now_s, self._settings.revokes_liars)
        state.decisions.write(connection, now_s)
        release.expire_releases(connection, now_s, self._settings.release_seconds_max)
        assigner.send_links(connection, now_s, LINKS_PER_ROUND, self._settings.links_per_order_max)
        self._retention.delete_old_rows(connection, now_s)
        state.checkpoint.save_if_due(connection, now_s)
        if not 0 <= now_s - state.states_recorded_s < STATES_SECONDS:
            crawlers.record_states(connection, now_s)
            state.states_recorded_s = now_s
        return self._pending_sites(connection, state, now_s)

    def _revoke_liars(self, connection: Connection, state: LeaderState, now_s: float) -> None:
        """Revoke crawlers whose round trips contradict several others (see `delegation.light_bounds`)."""
        for liar in state.strategy.trust.distrusted:
            cross_check.revoke(connection, liar, FASTER_THAN_LIGHT, now_s)

    def _pending_sites(self, connection: Connection, state: LeaderState, now_s: float) -> list[SiteRow]:
        room = min(self._settings.sites_at_once_max - len(self._under_way), self._lookups.capacity)
        if room <= 0 or not state.strategy.crawlers.awake:
            return []
        begun = self._under_way.keys() | self._looked_up.keys()
        most = room + len(begun)
        rows = sites.pending_assignment(connection, now_s, self._settings.retry_seconds, most)
        return [row for row in rows if row.name not in begun][:room]

    def _begin_lookups(self, waiting: list[SiteRow]) -> None:
        """Outside of any transaction; `take_ended` has the answers in this round or in a later one."""
        if waiting:
            self._looked_up |= {row.name: row for row in waiting}
            self._lookups.begin([row.name for row in waiting])

    # --- sites ----------------------------------------------------------------

    def _start_delegations(
        self,
        connection: Connection,
        state: LeaderState,
        found: Mapping[str, ResolveResult],
        now_s: float,
    ) -> None:
        busy = {self._unit_at(target.address) for target in self._under_way.values()}
        for name, addresses in found.items():
            if (site := self._looked_up.pop(name, None)) is None:
                continue  # begun under an earlier lease
            if isinstance(addresses, str):
                state.decisions.add_unreachable(site, addresses)
                continue
            target = Target.of(site.name, *_same_address(site, addresses))
            if (place := self._unit_at(target.address)) not in busy:
                self._delegate(connection, state, site, target, now_s)
                if site.name in self._under_way:
                    busy.add(place)
        state.dispatcher.advance(connection, now_s)
        state.decisions.write(connection, now_s)

    def _unit_at(self, address: IPAddress) -> object:
        """Sites of one subnet or address are delegated one by one: the first may decide for the others."""
        subnet = known_subnet(self._tree, address)
        return address if subnet is None else subnet

    def _delegate(
        self, connection: Connection, state: LeaderState, site: SiteRow, target: Target, now_s: float
    ) -> None:
        self._under_way[site.name] = target

        def on_finished(connection: Connection, decision: Decision) -> None:
            self._under_way.pop(site.name, None)
            self._on_decided(state, site, target, decision)

        state.dispatcher.submit(connection, state.strategy.delegate(target, now_s), on_finished)

    def _on_decided(self, state: LeaderState, site: SiteRow, target: Target, decision: Decision) -> None:
        DECISIONS.labels(decision.why.value).inc()
        DECISION_PROBES.observe(len(decision.probes))
        crawler = decision.crawler or decision.waits_for
        if crawler is None:
            is_final = decision.why is Why.UNREACHABLE
            (state.decisions.add_unreachable if is_final else state.decisions.add_waiting)(
                site, IN_WORDS[decision.why]
            )
            return
        if decision.why not in (Why.ALREADY_DELEGATED, Why.OWNER_ASLEEP):
            reasons = reasons_of(decision, self._settings.strategy, site.name)
            unit = state.strategy.unit_of(target)
            state.decisions.add_delegations((unit, target.address, *decision.subnets), reasons)
        state.decisions.add_assignment(site, target, crawler)


def _same_address(site: SiteRow, addresses: tuple[IPAddress, ...]) -> tuple[IPAddress, ...]:
    """The site's earlier address, if its name still resolves to it."""
    before = tuple(address for address in addresses if str(address) == site.address)
    return before or addresses

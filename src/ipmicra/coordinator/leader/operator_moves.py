"""Operator moves -> the mover's units delegated to the target host, and its sites released to it.

Invariant: a move uses the same release and assignment as every change of owner, so sites arrive with their
state and never have two owners. All writes are in the round's transaction, so the next leader can continue.
"""

from __future__ import annotations

from sqlalchemy import Connection

from ipmicra.coordinator.assignment import release
from ipmicra.coordinator.leader.decision_batch import DecisionBatch, target_of
from ipmicra.coordinator.store import events, moves
from ipmicra.coordinator.store.delegations import DecisionReasons
from ipmicra.coordinator.store.moves import OperatorMove
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.strategy import Strategy
from ipmicra.model.ids import CrawlerId

MOVED = DecisionReasons(why="moved", words="the operator moved its crawler here", strategy="")


class OperatorMoves:
    """Carries out operator moves for one strategy."""

    def __init__(self, strategy: Strategy, decisions: DecisionBatch) -> None:
        self._strategy, self._decisions = strategy, decisions

    def advance(self, connection: Connection, now_s: float) -> None:
        """Take the next step of every move."""
        for move in moves.all_moves(connection).values():
            if CrawlerId(move.target) in self._strategy.crawlers:
                self._hand_over(connection, move, now_s)
            elif move.moved_s is None:
                moves.end_move(connection, move.crawler)
                why = f"{move.target} is gone; the crawler keeps its remaining sites"
                events.record(connection, events.EventKind.MOVE_ENDED, move.crawler, why, now_s)

    def _hand_over(self, connection: Connection, move: OperatorMove, now_s: float) -> None:
        units = self._units(connection, move)
        if units:
            for unit in units:
                self._strategy.give(unit, CrawlerId(move.target))
            self._decisions.write_and_release(connection, units, MOVED, now_s)
            release.reopen_located(connection, move.crawler)
        held = moves.remaining_sites(connection, move.crawler)
        stray = [row for row in held if row.state is SiteStatus.DELEGATED]
        release.begin_release(connection, stray, now_s)
        if not held and move.moved_s is None:
            moves.mark_moved(connection, move.crawler, now_s)
            events.record(
                connection, events.EventKind.CRAWLER_MOVED, move.crawler, f"to {move.target}", now_s
            )

    def _units(self, connection: Connection, move: OperatorMove) -> list[DelegationUnit]:
        """The mover's units by the strategy, and the units of its remaining sites."""
        held = [row for row in moves.remaining_sites(connection, move.crawler) if row.address]
        known = self._strategy.delegations.held_by(CrawlerId(move.crawler))
        lying = (self._strategy.unit_of(target_of(row)) for row in held)
        owner = self._strategy.delegations.owner
        return [unit for unit in dict.fromkeys((*known, *lying)) if owner(unit) != move.target]

"""A strategy's delegations and round trips <-> rows, with the reasons of each decision.

Invariant: units are stored by address range and name, so rows outlive the tree and the process. A unit that a
new tree does not contain is deleted, and delegated again when one of its sites appears.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from sqlalchemy import Connection, delete, select

from ipmicra.coordinator.store import blobs
from ipmicra.coordinator.store.sql.batches import in_batches
from ipmicra.coordinator.store.sql.schema import delegation_table
from ipmicra.coordinator.store.sql.upserts import put
from ipmicra.coordinator.store.unit_codec import unit_from_text, unit_text
from ipmicra.delegation.decision import IN_WORDS, Decision, Why
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.evidence.measurements import Measurements, RoundTripRecord
from ipmicra.delegation.strategies.learning_strategy import LearningStrategy
from ipmicra.delegation.strategy import Strategy
from ipmicra.model.ids import CrawlerId

MEASUREMENTS = "measurements"


class DecisionReasons(msgspec.Struct, frozen=True, kw_only=True):
    """Why a unit was delegated to its crawler, as known at the time of the decision."""

    why: str  # for programs
    words: str  # for people
    strategy: str
    site: str = ""
    round_trip_ms: float | None = None
    probes: tuple[tuple[str, float | None, str], ...] = ()  # crawler, round trip, reason for no answer
    steps: tuple[tuple[str, str], ...] = ()


def reasons_of(decision: Decision, strategy: str, site: str) -> DecisionReasons:
    return DecisionReasons(
        why=decision.why,
        words=IN_WORDS[decision.why],
        strategy=strategy,
        site=site,
        round_trip_ms=decision.round_trip_ms,
        probes=tuple((c, a.round_trip_ms, a.silence or "") for c, a in decision.probes),
        steps=tuple((step.what, step.found) for step in decision.steps),
    )


class DelegationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One delegated unit."""

    unit: str
    crawler: str
    decided_s: float
    reasons: DecisionReasons


def write_delegations(
    connection: Connection,
    strategy: Strategy,
    reasons_by_unit: Mapping[DelegationUnit, DecisionReasons],
    now_s: float,
) -> None:
    """Write the current owners of the units; a unit without an owner has no row."""
    rows, unowned = {}, []
    for unit, reasons in reasons_by_unit.items():
        text, owner = unit_text(strategy.tree, unit), strategy.delegations.owner(unit)
        if owner is None:
            unowned.append(text)
        else:
            body = msgspec.msgpack.encode(reasons)
            rows[text] = {"ground": text, "crawler": owner, "decided_s": now_s, "decision": body}
    for batch in in_batches(unowned):
        connection.execute(delete(delegation_table).where(delegation_table.c.ground.in_(batch)))
    put(connection, delegation_table, *rows.values())


def load_delegations(connection: Connection, strategy: Strategy) -> None:
    """Load the rows of present crawlers into a new strategy."""
    for row in connection.execute(select(delegation_table).order_by(delegation_table.c.decided_s)):
        unit = unit_from_text(strategy.tree, row.ground)
        if unit is None or row.crawler not in strategy.crawlers:
            connection.execute(delete(delegation_table).where(delegation_table.c.ground == row.ground))
        else:
            strategy.give(unit, CrawlerId(row.crawler))
            _load_anycast(strategy, unit, row.decision)
    strategy.measurements.remember(
        record for record in saved_round_trips(connection) if record.crawler in strategy.crawlers
    )


def _load_anycast(strategy: Strategy, unit: DelegationUnit, decision: bytes) -> None:
    is_anycast = msgspec.msgpack.decode(decision, type=DecisionReasons).why == Why.ANYCAST
    if is_anycast and isinstance(strategy, LearningStrategy):
        strategy.restore_anycast(unit)


def saved_round_trips(connection: Connection) -> list[RoundTripRecord]:
    """The round trips of the last checkpoint."""
    body = blobs.read(connection, MEASUREMENTS)
    return [] if body is None else list(Measurements.from_bytes(body).records())


def delegation_rows(connection: Connection, units: list[str]) -> dict[str, DelegationRow]:
    """The rows of these units, by unit."""
    rows = connection.execute(select(delegation_table).where(delegation_table.c.ground.in_(units)))
    return {
        row.ground: DelegationRow(
            unit=row.ground,
            crawler=row.crawler,
            decided_s=row.decided_s,
            reasons=msgspec.msgpack.decode(row.decision, type=DecisionReasons),
        )
        for row in rows
    }

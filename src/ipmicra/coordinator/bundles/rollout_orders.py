"""The row of a roll-out and hosts' reports -> orders to upgrade, and the row as it is afterwards.

Invariant: one roll-out at a time; a newer one replaces it. Every change of its state is an event.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, select, update

from ipmicra.coordinator.bundles.rollout import STAGES, HostCode, Rollout, RolloutState, step
from ipmicra.coordinator.store import events, orders
from ipmicra.coordinator.store.hosts import Host, all_hosts
from ipmicra.coordinator.store.liveness import is_present
from ipmicra.coordinator.store.sql.schema import rollout_table
from ipmicra.coordinator.store.sql.upserts import insert_new
from ipmicra.errors import OperatorFault
from ipmicra.protocol.host_messages import CodeReport, Upgrade


def begin(connection: Connection, version: str, now_s: float) -> None:
    """Start the roll-out of a version; a running roll-out ends. A version is rolled out once."""
    connection.execute(
        update(rollout_table)
        .where(rollout_table.c.state == RolloutState.ROLLING)
        .values(state=RolloutState.HALTED, reason=f"{version} took its place")
    )
    row = msgspec.structs.asdict(Rollout(version=version, stage_since_s=now_s)) | {"begun_s": now_s}
    if not insert_new(connection, rollout_table, [row]):
        raise OperatorFault(f"version {version} was rolled out before; hosts never go back")
    events.record(
        connection, events.EventKind.ROLLOUT_BEGUN, version, f"to {STAGES[0]:.0%} of the hosts", now_s
    )


def halt(connection: Connection, version: str, reason: str, now_s: float) -> None:
    """Halt by the operator's command. Hosts that have the version keep it."""
    rolling = latest(connection)
    if rolling is None or rolling.version != version or rolling.state is not RolloutState.ROLLING:
        raise OperatorFault(f"version {version} is not being rolled out")
    _save(connection, msgspec.structs.replace(rolling, state=RolloutState.HALTED, reason=reason), now_s)


def latest(connection: Connection) -> Rollout | None:
    row = connection.execute(
        select(rollout_table).order_by(rollout_table.c.begun_s.desc()).limit(1)
    ).first()
    if row is None:
        return None
    return Rollout(
        version=row.version,
        state=RolloutState(row.state),
        stage=row.stage,
        stage_since_s=row.stage_since_s,
        reason=row.reason,
    )


def advance(connection: Connection, now_s: float, soak_s: float) -> Rollout | None:
    """One look at the roll-out under way: orders are given, stages begin, a bad one halts."""
    rolling = latest(connection)
    if rolling is None or rolling.state is not RolloutState.ROLLING:
        return rolling
    codes = [code_of(host) for host in all_hosts(connection) if is_present(host, now_s)]
    next_step = step(rolling, codes, now_s, soak_s)
    for host in next_step.upgrade:
        orders.give(connection, host, Upgrade(version=rolling.version), rolling.version, now_s)
    if next_step.rollout != rolling:
        _save(connection, next_step.rollout, now_s)
    return next_step.rollout


def code_of(host: Host) -> HostCode:
    """The hosts' reports on which a roll-out is based."""
    report = code_report_of(host)
    return HostCode(
        host=host.name,
        running=report.version,
        refused=dict(report.refused),
        ends_today=report.ends_today,
        takes_bundles=report.takes_bundles,
    )


def code_report_of(host: Host) -> CodeReport:
    """The part about code in a host's last report."""
    try:
        return msgspec.convert(host.report.get("code", {}), CodeReport)
    except msgspec.ValidationError:
        return CodeReport()


def _save(connection: Connection, changed: Rollout, now_s: float) -> None:
    values = msgspec.structs.asdict(changed)
    connection.execute(
        update(rollout_table).where(rollout_table.c.version == changed.version).values(values)
    )
    detail = changed.reason or f"to {STAGES[changed.stage]:.0%} of the hosts"
    events.record(
        connection, events.EventKind(f"rollout-{changed.state}"), changed.version, detail, now_s
    )

"""Rows of hosts, orders and moves -> every crawler with its state, since when, its code and its sites.

Invariant: the state is computed from rows by `crawler_states.state_of`; only the leader records since when a
crawler is in its state.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select

from ipmicra.coordinator.admin.crawler_states import (
    CrawlerState,
    CrawlerStateInputs,
    OperatorCommand,
    allowed_commands,
    state_of,
)
from ipmicra.coordinator.bundles.rollout_orders import code_report_of
from ipmicra.coordinator.store import hosts, moves, sites
from ipmicra.coordinator.store.hosts import Host
from ipmicra.coordinator.store.liveness import is_awake, is_present, parse_report
from ipmicra.coordinator.store.moves import OperatorMove
from ipmicra.coordinator.store.sql.schema import life_table, order_table
from ipmicra.coordinator.store.sql.upserts import put
from ipmicra.errors import OperatorFault
from ipmicra.protocol.host_messages import Pause, Resume, Retire, Upgrade, kind_of


class CrawlerStatus(msgspec.Struct, frozen=True, kw_only=True, rename={"commands": "wishes"}):
    """One crawler. Its host has the same name."""

    name: str
    state: CrawlerState
    since_s: float | None  # as the leader recorded it; None: not recorded yet
    address: str
    code: str  # the version that was dispatched; empty: what the owner installed
    trial: str  # the version that is being tried
    takes_code: bool
    sites: int
    moves_to: str
    commands: tuple[OperatorCommand, ...]  # commands that are allowed now
    report: dict[str, object]


class _OpenCommands(msgspec.Struct, frozen=True):
    """Names of hosts with an open command, by command."""

    retiring: set[str]
    upgrading: set[str]
    paused: set[str]


def crawlers(connection: Connection, now_s: float, name: str | None = None) -> list[CrawlerStatus]:
    """All crawlers, also ended ones, or the one with this name."""
    commands, moving = _open_commands(connection), moves.all_moves(connection)
    counts = sites.counts_by_crawler(connection)
    since = {(row.crawler, row.state): row.since_s for row in connection.execute(select(life_table))}
    hosts_wanted = [host for host in hosts.all_hosts(connection) if name in (None, host.name)]
    return [
        _status(host, _state(host, commands, moving, now_s), counts, since, moving)
        for host in hosts_wanted
    ]


def _status(
    host: Host,
    state: CrawlerState,
    counts: dict[str, int],
    since: dict[tuple[str, str], float],
    moving: dict[str, OperatorMove],
) -> CrawlerStatus:
    code = code_report_of(host)
    return CrawlerStatus(
        name=host.name,
        state=state,
        since_s=since.get((host.name, state)),
        address=host.address,
        code=code.version,
        trial=code.trial,
        takes_code=code.takes_bundles,
        sites=counts.get(host.name, 0),
        moves_to=moving[host.name].target if host.name in moving else "",
        commands=allowed_commands(state),
        report=host.report,
    )


def crawler_named(connection: Connection, name: str, now_s: float) -> CrawlerStatus:
    hosts_wanted = crawlers(connection, now_s, name)
    if not hosts_wanted:
        raise OperatorFault(f"there is no host {name!r}; see them with: ipmicra coordinator hosts")
    return hosts_wanted[0]


def record_states(connection: Connection, now_s: float) -> None:
    """Record the crawlers whose state has changed."""
    commands, moving = _open_commands(connection), moves.all_moves(connection)
    noted = {row.crawler: row.state for row in connection.execute(select(life_table))}
    states = {host.name: _state(host, commands, moving, now_s) for host in hosts.all_hosts(connection)}
    changed = [
        {"crawler": name, "state": state, "since_s": now_s}
        for name, state in states.items()
        if noted.get(name) != state
    ]
    put(connection, life_table, *changed)


def _state(
    host: Host, commands: _OpenCommands, moving: dict[str, OperatorMove], now_s: float
) -> CrawlerState:
    present, move, code = is_present(host, now_s), moving.get(host.name), code_report_of(host)
    return state_of(
        CrawlerStateInputs(
            host=host.state,
            present=present,
            has_reported=bool(host.report),
            awake=present and is_awake(parse_report(host), now_s),
            is_retiring=host.name in commands.retiring,
            moves=move is not None and move.moved_s is None,
            has_moved=move is not None and move.moved_s is not None,
            paused=host.name in commands.paused,
            changes_code=host.name in commands.upgrading or bool(code.trial),
        )
    )


def _open_commands(connection: Connection) -> _OpenCommands:
    def commands(kind: str) -> set[str]:
        query = select(order_table.c.host).where(
            order_table.c.kind == kind, order_table.c.done_s.is_(None)
        )
        return set(connection.execute(query).scalars())

    return _OpenCommands(commands(kind_of(Retire)), commands(kind_of(Upgrade)), _paused(connection))


def _paused(connection: Connection) -> set[str]:
    """Hosts whose last pause or resume command was a pause; cancelled commands do not count."""
    stands = order_table.c.done_s.is_(None) | order_table.c.outcome.is_not(None)
    kinds = (kind_of(Pause), kind_of(Resume))
    last = (
        select(func.max(order_table.c.number))
        .where(order_table.c.kind.in_(kinds), stands)
        .group_by(order_table.c.host)
        .scalar_subquery()
    )
    query = select(order_table.c.host).where(
        order_table.c.number.in_(last), order_table.c.kind == kind_of(Pause)
    )
    return set(connection.execute(query).scalars())

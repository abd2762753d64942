"""Operator commands for a host and its crawler -> rows and orders, one function per command.

The command line and the pages use the same functions. Invariant: `crawler_states` says which command is
allowed in which state, and every command is recorded as an event. The host carries out a pause, an upgrade
and a retirement; the leader carries out a move; a revocation takes effect at once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from sqlalchemy import Connection

from ipmicra.coordinator.admin.crawler_states import (
    CrawlerState,
    OperatorCommand,
    is_allowed,
    is_noop,
)
from ipmicra.coordinator.store import events, hosts, moves, orders
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.views.crawlers import CrawlerStatus, crawler_named
from ipmicra.errors import OperatorFault
from ipmicra.protocol.host_messages import OrderBody, Pause, Resume, Retire, Upgrade, kind_of

NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
_TOKEN_BYTES = 24
CAN_TAKE = (CrawlerState.WORKING, CrawlerState.RESTING, CrawlerState.UPGRADING)
_BY_OPERATOR = "operator"  # the key of such orders: one of a kind is open at a time


def register(connection: Connection, name: str, now_s: float, token_s: float, contact: str = "") -> str:
    """Announce a host. Returns its join token; only the token's digest is stored."""
    if not NAME.fullmatch(name):
        raise OperatorFault(f"{name!r}: a host's name has letters a-z, digits, '-' and '.', at most 63")
    token = _new_token()
    hosts.register(connection, name, token, now_s, token_s, contact)
    events.record(
        connection, events.EventKind.HOST_REGISTERED, name, "its join token is not used yet", now_s
    )
    return token


def renew_token(connection: Connection, name: str, now_s: float, token_s: float) -> str:
    """A new join token for a registered host whose token expired or was lost; the old one becomes invalid."""
    token = _new_token()
    hosts.renew_token(connection, name, token, now_s, token_s)
    events.record(connection, events.EventKind.HOST_REGISTERED, name, "it has a new join token", now_s)
    return token


def _new_token() -> str:
    return secrets.token_hex(_TOKEN_BYTES)  # no dash: a command line would read it as an option


def pause(connection: Connection, name: str, reason: str, now_s: float) -> int:
    """The host keeps its sites and does nothing until it is resumed. Returns the order's number."""
    _check(connection, name, OperatorCommand.PAUSE, now_s)
    orders.cancel_kind(connection, name, Resume, _BY_OPERATOR, now_s)
    return _order(connection, name, Pause(reason=reason), reason, now_s)


def resume(connection: Connection, name: str, now_s: float) -> int:
    """End the operator's pause, or a move; the host works again, unless its owner paused it."""
    _check(connection, name, OperatorCommand.RESUME, now_s)
    moves.end_move(connection, name)
    orders.cancel_kind(connection, name, Pause, _BY_OPERATOR, now_s)
    return _order(connection, name, Resume(), "", now_s)


def upgrade(
    connection: Connection, name: str, version: str, published: Sequence[str], now_s: float
) -> int:
    """Upgrade the crawler to this version now, independent of any roll-out."""
    crawler = _check(connection, name, OperatorCommand.UPGRADE, now_s)
    if version not in published:
        known = ", ".join(published) or "none"
        raise OperatorFault(f"version {version} is not published; published are: {known}")
    if not crawler.takes_code:
        raise OperatorFault(
            f"host {name!r} does not accept dispatched code (its owner has not trusted a signing key)"
        )
    events.record(connection, events.EventKind.HOST_UPGRADE, name, f"to version {version}", now_s)
    return orders.give(connection, name, Upgrade(version=version), version, now_s)


def move(connection: Connection, name: str, target: str, now_s: float) -> None:
    """Move the crawler's sites with their state to another host; its own host gets no new sites."""
    _check(connection, name, OperatorCommand.MOVE, now_s)
    there = crawler_named(connection, target, now_s)
    if target == name or there.state not in CAN_TAKE:
        raise OperatorFault(
            f"{name!r} cannot move to {target!r}, which is {'itself' if target == name else there.state}"
        )
    moves.request_move(connection, name, target, now_s)
    events.record(connection, events.EventKind.HOST_MOVE, name, f"to {target}", now_s)


def retire(connection: Connection, name: str, reason: str, now_s: float) -> int:
    """The host hands over its sites, delivers its packages, and stops."""
    _check(connection, name, OperatorCommand.RETIRE, now_s)
    return _order(connection, name, Retire(reason=reason), reason, now_s)


def revoke(connection: Connection, name: str, now_s: float) -> None:
    """Make the host's key invalid at once; its sites go to others."""
    hosts.end_host(connection, name, HostState.REVOKED)
    events.record(connection, events.EventKind.HOST_REVOKED, name, "by the operator", now_s)


def _check(connection: Connection, name: str, command: OperatorCommand, now_s: float) -> CrawlerStatus:
    crawler = crawler_named(connection, name, now_s)
    if not is_allowed(crawler.state, command) and not is_noop(crawler.state, command):
        raise OperatorFault(
            f"the host {name!r} is {crawler.state}: the command {command!r} is not possible now"
        )
    return crawler


def _order(connection: Connection, name: str, body: OrderBody, detail: str, now_s: float) -> int:
    events.record(connection, events.EventKind(f"host-{kind_of(type(body))}"), name, detail, now_s)
    return orders.give(connection, name, body, _BY_OPERATOR, now_s)

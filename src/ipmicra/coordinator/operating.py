"""What the operator decides about a host -> rows and orders: register, pause, resume, retire, revoke.

One function a decision, for commands and pages alike. Law: every decision is an event that can be read
later. A pause or a retirement is an order, carried out by the host; a revocation needs nobody's consent.
"""

from __future__ import annotations

import re
import secrets

from sqlalchemy import Connection

from ipmicra.coordinator import events, hosts, orders
from ipmicra.coordinator.hosts import HostState
from ipmicra.dock.protocol import OrderBody, Pause, Resume, Retire
from ipmicra.errors import OperatorFault

NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
_TOKEN_BYTES = 24
_BY_OPERATOR = "operator"  # the key of such orders: one of a kind is open at a time


def register(connection: Connection, name: str, now_s: float, token_s: float, contact: str = "") -> str:
    """Announce a host. Returns its join token, of which only a digest is kept."""
    if not NAME.fullmatch(name):
        raise OperatorFault(f"{name!r}: a host's name has letters a-z, digits, '-' and '.', at most 63")
    token = _new_token()
    hosts.register(connection, name, token, now_s, token_s, contact)
    events.note(connection, "host-registered", name, "its join token waits to be used", now_s)
    return token


def renew_token(connection: Connection, name: str, now_s: float, token_s: float) -> str:
    """A new join token for a registered host whose token ran out or got lost; the old one is void."""
    token = _new_token()
    hosts.renew_token(connection, name, token, now_s, token_s)
    events.note(connection, "host-registered", name, "it has a new join token", now_s)
    return token


def _new_token() -> str:
    return secrets.token_hex(_TOKEN_BYTES)  # no dash, which a command line takes for an option


def pause(connection: Connection, name: str, reason: str, now_s: float) -> int:
    """The host keeps its sites and does nothing until it is resumed. Returns the order's number."""
    return _order(connection, name, Pause(reason=reason), Resume, now_s)


def resume(connection: Connection, name: str, now_s: float) -> int:
    """End the coordinator's pause; the owner's own stands."""
    return _order(connection, name, Resume(), Pause, now_s)


def retire(connection: Connection, name: str, reason: str, now_s: float) -> int:
    """The host hands its sites over, sends what it has, and ends."""
    return _order(connection, name, Retire(reason=reason), None, now_s)


def revoke(connection: Connection, name: str, now_s: float) -> None:
    """The host's key is void at once, and its sites go to others."""
    hosts.end(connection, name, HostState.REVOKED)
    events.note(connection, "host-revoked", name, "by the operator", now_s)


def _order(
    connection: Connection, name: str, body: OrderBody, opposite: type[OrderBody] | None, now_s: float
) -> int:
    host = hosts.host_named(connection, name)
    if host is None:
        raise OperatorFault(f"there is no host {name!r}; see them with: ipmicra coordinator hosts")
    if host.state is not HostState.ENROLLED:
        raise OperatorFault(f"the host {name!r} is {host.state}: it hears no orders")
    if opposite is not None:
        orders.cancel_kind(connection, name, opposite, _BY_OPERATOR, now_s)
    number = orders.give(connection, name, body, _BY_OPERATOR, now_s)
    events.note(
        connection, f"host-{orders.kind_of(type(body))}", name, getattr(body, "reason", ""), now_s
    )
    return number

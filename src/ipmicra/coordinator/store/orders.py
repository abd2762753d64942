"""Orders to hosts -> rows that are offered until the host reports them done.

Invariant: an order is durable from the moment it is given, and has an effect once: a host may fetch it many
times, it is closed once, and an open order of the same kind and key is not given again. A host is not sent a
kind of order that it does not support: such an order is closed as refused at once, so that its sender gets an
answer.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select, update

from ipmicra.coordinator.store import hosts
from ipmicra.coordinator.store.sql.schema import order_table
from ipmicra.protocol.host_messages import (
    FIRST_ORDER_KINDS,
    ORDER_KINDS,
    ORDERS_AT_ONCE,
    Order,
    OrderBody,
    OrderDone,
    UnknownOrder,
    kind_of,
)

# Orders of kinds that this version does not know were given by a newer version, and wait for it.
_OPEN = (order_table.c.done_s.is_(None), order_table.c.kind.in_(ORDER_KINDS))
_UNFETCHED = (*_OPEN, order_table.c.fetched_s.is_(None))
_body_decoder = msgspec.msgpack.Decoder(OrderBody)


def give(connection: Connection, host: str, body: OrderBody, key: str, now_s: float) -> int:
    """Give an order, unless one of the same kind and key is open. Returns the order's number."""
    kind = kind_of(type(body))
    open_one = connection.execute(
        select(order_table.c.number).where(
            order_table.c.host == host,
            order_table.c.kind == kind,
            order_table.c.key == key,
            order_table.c.done_s.is_(None),
        )
    ).scalar()
    if open_one is not None:
        return int(open_one)
    row = {
        "host": host,
        "kind": kind,
        "key": key,
        "body": msgspec.msgpack.encode(body),
        "given_s": now_s,
    }
    if kind not in supported_kinds(connection, host):
        row |= {"done_s": now_s, "outcome": msgspec.msgpack.encode(_unsupported_outcome(kind))}
    return int(
        connection.execute(order_table.insert().values(row).returning(order_table.c.number)).scalar_one()
    )


def supported_kinds(connection: Connection, host: str) -> frozenset[str]:
    """The kinds of order in the host's last report; those of protocol 1 if it listed none."""
    known = hosts.host_named(connection, host)
    stated = None if known is None else known.report.get("order_kinds")
    return frozenset(map(str, stated)) if isinstance(stated, list) and stated else FIRST_ORDER_KINDS


def _unsupported_outcome(kind: str) -> OrderDone:
    return UnknownOrder(
        0, kind, "the host does not support this kind of order; it was not sent"
    ).refusal()


def open_orders(connection: Connection, host: str, now_s: float) -> list[Order]:
    """The open orders, oldest first, marked as fetched. If there are too many, unfetched ones first."""
    rows = connection.execute(
        select(order_table.c.number, order_table.c.body)
        .where(order_table.c.host == host, *_OPEN)
        .order_by(order_table.c.fetched_s.is_not(None), order_table.c.number)
        .limit(ORDERS_AT_ONCE)
    ).all()
    open_ones = [Order(number=number, body=_body_decoder.decode(body)) for number, body in sorted(rows)]
    fresh = [order.number for order in open_ones]
    connection.execute(
        update(order_table)
        .where(order_table.c.number.in_(fresh), order_table.c.fetched_s.is_(None))
        .values(fetched_s=now_s)
    )
    return open_ones


def is_open(connection: Connection, host: str, kind: str, key: str) -> bool:
    """Whether an order of that kind and key is still to be done."""
    which = (order_table.c.host == host, order_table.c.kind == kind, order_table.c.key == key)
    query = select(order_table.c.number).where(*which, order_table.c.done_s.is_(None)).limit(1)
    return connection.execute(query).first() is not None


def has_unfetched(connection: Connection, host: str) -> bool:
    """Whether the host has an order that it has not fetched; its long poll is then answered at once."""
    query = select(order_table.c.number).where(order_table.c.host == host, *_UNFETCHED).limit(1)
    return connection.execute(query).first() is not None


def hosts_with_unfetched(connection: Connection) -> set[str]:
    """All hosts with an order that they have not fetched."""
    query = select(order_table.c.host).where(*_UNFETCHED).distinct()
    return set(connection.execute(query).scalars())


def close(connection: Connection, host: str, done: OrderDone, now_s: float) -> OrderBody | None:
    """Close an order. Returns its body the first time; None later, or if the order is not the host's."""
    body = connection.execute(
        update(order_table)
        .where(
            order_table.c.number == done.number,
            order_table.c.host == host,
            order_table.c.done_s.is_(None),
        )
        .values(done_s=now_s, outcome=msgspec.msgpack.encode(done))
        .returning(order_table.c.body)
    ).scalar()
    try:
        return None if body is None else _body_decoder.decode(body)
    except msgspec.ValidationError:  # given by a newer coordinator
        return None


def cancel(connection: Connection, number: int, now_s: float) -> None:
    """Cancel an order, unless it is done."""
    connection.execute(
        update(order_table)
        .where(order_table.c.number == number, order_table.c.done_s.is_(None))
        .values(done_s=now_s)
    )


def cancel_kind(
    connection: Connection, host: str, kind: type[OrderBody], key: str, now_s: float
) -> None:
    """Cancel the open order of that kind and key, if there is one."""
    connection.execute(
        update(order_table)
        .where(
            order_table.c.host == host,
            order_table.c.kind == kind_of(kind),
            order_table.c.key == key,
            order_table.c.done_s.is_(None),
        )
        .values(done_s=now_s)
    )


def cancel_all(connection: Connection, host: str, now_s: float) -> int:
    """Cancel all open orders of a host. Returns their number."""
    cancelled = connection.execute(
        update(order_table)
        .where(order_table.c.host == host, order_table.c.done_s.is_(None))
        .values(done_s=now_s, outcome=None)
    )
    return cancelled.rowcount


def counts(connection: Connection, host: str | None = None) -> dict[str, int]:
    """Open orders by kind, of all hosts or of one."""
    query = (
        select(order_table.c.kind, func.count())
        .where(order_table.c.done_s.is_(None))
        .group_by(order_table.c.kind)
    )
    rows = connection.execute(query if host is None else query.where(order_table.c.host == host)).all()
    return {kind: int(count) for kind, count in sorted(tuple(row) for row in rows)}

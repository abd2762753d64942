"""Registrations, enrolments and signed requests -> which host this is, and whether its request is accepted.

| state      | means                                     | next               |
|------------|-------------------------------------------|--------------------|
| registered | announced; its join token is not used yet | enrolled, revoked  |
| enrolled   | has a key; its requests are accepted      | revoked, left, retired |
| revoked    | ended by the operator; requests are refused |                  |
| left       | ended by its owner                        |                    |
| retired    | handed everything over, by order          |                    |

Invariant: a join token works once and for a limited time, and only its digest is stored. A request is
accepted only if its signature is correct, its time is close to ours, and its sequence number is higher than
any before on its channel.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, select, update

from ipmicra.coordinator.store.sql.schema import channel_table, host_table
from ipmicra.coordinator.store.sql.upserts import insert_new
from ipmicra.errors import OperatorFault
from ipmicra.model.ids import LeaseEpoch
from ipmicra.protocol.host_messages import RefusalMessage
from ipmicra.protocol.signing import CLOCK_SKEW_MS_MAX, RequestSignature, is_genuine

CHANNELS = ("orders", "reports", "packages")


class HostState(StrEnum):
    REGISTERED = "registered"
    ENROLLED = "enrolled"
    REVOKED = "revoked"
    LEFT = "left"
    RETIRED = "retired"


class Host(NamedTuple):
    """A host as the coordinator knows it."""

    name: str
    contact: str
    state: HostState
    address: str
    heard_s: float | None
    lease_until_s: float | None
    epoch: LeaseEpoch
    report: dict[str, object]


class HostRefused(Exception):
    """A refused request, with the message for the host."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.refusal = RefusalMessage(kind=kind, reason=reason)


def register(
    connection: Connection, name: str, token: str, now_s: float, token_s: float, contact: str = ""
) -> None:
    """Announce a host. `token` is for its owner; only its digest is stored."""
    row = {
        "name": name,
        "contact": contact,
        "state": HostState.REGISTERED,
        "token_digest": _digest(token),
        "token_until_s": now_s + token_s,
    }
    if not insert_new(connection, host_table, [row]):
        raise OperatorFault(f"host {name!r} already exists; choose another name, or revoke it first")


def renew_token(connection: Connection, name: str, token: str, now_s: float, token_s: float) -> None:
    """Replace the join token of a host that has not joined; the former token becomes invalid."""
    waiting = (host_table.c.name == name) & (host_table.c.state == HostState.REGISTERED)
    renewed = connection.execute(
        update(host_table)
        .where(waiting)
        .values(token_digest=_digest(token), token_until_s=now_s + token_s)
    )
    if not renewed.rowcount:
        raise OperatorFault(f"host {name!r} is not waiting to join; register it, or revoke it first")


def enrol(connection: Connection, token: str, public_key: bytes, address: str, now_s: float) -> str:
    """Use a join token and store the host's public key. Returns the host's name."""
    name: str | None = connection.execute(
        update(host_table)
        .where(
            host_table.c.token_digest == _digest(token),
            host_table.c.state == HostState.REGISTERED,
            host_table.c.token_until_s > now_s,
        )
        .values(
            state=HostState.ENROLLED,
            token_digest=None,
            public_key=public_key,
            address=address,
            heard_s=now_s,
        )
        .returning(host_table.c.name)
    ).scalar()
    if name is None:
        raise HostRefused(
            "token", "this join token is unknown, already used or expired; ask for a new one"
        )
    return name


def authenticate(
    connection: Connection, claim: RequestSignature, method: str, path: str, digest: str, now_s: float
) -> Host:
    """Check a signed request and use its sequence number. Raises `HostRefused`."""
    row = verify_signature(connection, claim, method, path, digest, now_s)
    _use_sequence(connection, claim)
    connection.execute(update(host_table).where(host_table.c.name == claim.host).values(heard_s=now_s))
    return _host(row)


def verify_signature(
    connection: Connection,
    claim: RequestSignature,
    method: str,
    path: str,
    digest: str | None,
    now_s: float,
) -> RowMapping:
    """Whether an enrolled host signed this, with a body of that digest; None: the body is not known yet.

    Changes nothing. Raises `HostRefused`.
    """
    row = (
        connection.execute(select(host_table).where(host_table.c.name == claim.host)).mappings().first()
    )
    if row is None or row["public_key"] is None:
        raise HostRefused("unknown-host", f"no host {claim.host!r} is enrolled here")
    if row["state"] != HostState.ENROLLED:
        raise HostRefused("not-enrolled", f"the host {claim.host!r} is {row['state']}")
    if digest is not None and not is_genuine(row["public_key"], method, path, digest, claim):
        raise HostRefused("signature", "the signature does not match the request")
    if abs(claim.time_ms - now_s * 1000) > CLOCK_SKEW_MS_MAX:
        raise HostRefused("clock", "the request's time is too far from the coordinator's")
    return row


def _use_sequence(connection: Connection, claim: RequestSignature) -> None:
    if claim.channel not in CHANNELS:
        raise HostRefused("channel", f"there is no channel {claim.channel!r}")
    first = {"host": claim.host, "channel": claim.channel, "last_sequence": claim.sequence}
    if insert_new(connection, channel_table, [first]):
        return
    raised = connection.execute(
        update(channel_table)
        .where(
            channel_table.c.host == claim.host,
            channel_table.c.channel == claim.channel,
            channel_table.c.last_sequence < claim.sequence,
        )
        .values(last_sequence=claim.sequence)
    )
    if not raised.rowcount:
        raise HostRefused(
            "sequence", "a request with this or a later sequence number was accepted before"
        )


def set_address(connection: Connection, name: str, address: str) -> None:
    """Update the address that the host connects from; many hosts get a new one every day."""
    changed = (host_table.c.name == name, host_table.c.address != address)
    connection.execute(update(host_table).where(*changed).values(address=address))


def renew_lease(connection: Connection, name: str, now_s: float, lease_s: float) -> int:
    """Extend the host's lease to `lease_s` from now. Returns the lease epoch."""
    return int(
        connection.execute(
            update(host_table)
            .where(host_table.c.name == name)
            .values(lease_until_s=now_s + lease_s, heard_s=now_s)
            .returning(host_table.c.epoch)
        ).scalar_one()
    )


def expire_leases(connection: Connection, now_s: float) -> list[str]:
    """End the leases of hosts that were silent for too long. Returns their names."""
    expired = connection.execute(
        update(host_table)
        .where(host_table.c.state == HostState.ENROLLED, host_table.c.lease_until_s <= now_s)
        .values(lease_until_s=None, epoch=host_table.c.epoch + 1)
        .returning(host_table.c.name)
    )
    return sorted(expired.scalars())


def leased_heard_s(connection: Connection) -> list[float]:
    """The time of the last request of each host with a running lease."""
    return list(connection.execute(select(host_table.c.heard_s).where(_is_leased())).scalars())


def keep_leases(connection: Connection, now_s: float, lease_s: float) -> None:
    """Extend all running leases. Only rows with less than half of the lease left are written."""
    connection.execute(
        update(host_table)
        .where(_is_leased(), host_table.c.lease_until_s < now_s + lease_s / 2)
        .values(lease_until_s=now_s + lease_s)
    )


def prolong_leases(connection: Connection, now_s: float, lease_s: float) -> None:
    """Give every running lease its full length again, after a time when perhaps no coordinator was running.

    A lease that ends later than that was written by a wrong clock; it is shortened.
    """
    connection.execute(update(host_table).where(_is_leased()).values(lease_until_s=now_s + lease_s))


def _is_leased() -> ColumnElement[bool]:
    return and_(host_table.c.state == HostState.ENROLLED, host_table.c.lease_until_s.is_not(None))


def end_host(connection: Connection, name: str, state: HostState) -> None:
    """Set a final state (revoked, left or retired). The host's next request is refused."""
    changed = connection.execute(
        update(host_table)
        .where(host_table.c.name == name)
        .values(state=state, token_digest=None, lease_until_s=None, epoch=host_table.c.epoch + 1)
    )
    if not changed.rowcount:
        raise OperatorFault(f"there is no host {name!r}")


def save_report(connection: Connection, name: str, report: dict[str, object]) -> None:
    connection.execute(
        update(host_table)
        .where(host_table.c.name == name)
        .values(report=msgspec.json.encode(report).decode())
    )


def host_named(connection: Connection, name: str) -> Host | None:
    row = connection.execute(select(host_table).where(host_table.c.name == name)).mappings().first()
    return None if row is None else _host(row)


def all_hosts(connection: Connection) -> list[Host]:
    return [
        _host(row)
        for row in connection.execute(select(host_table).order_by(host_table.c.name)).mappings()
    ]


def _host(row: RowMapping) -> Host:
    return Host(
        row["name"],
        row["contact"],
        HostState(row["state"]),
        row["address"],
        row["heard_s"],
        row["lease_until_s"],
        row["epoch"],
        msgspec.json.decode(row["report"]),
    )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

"""Pages that were brought -> a share of them seen by another crawler too, and crawlers that nobody confirms.

    pick      when a package is integrated: a few of its pages are to be seen again
    ask       in the leader's round: an order to a host in another network
    heard     when that host reports: the same page, or one contradiction more

Law: who will look, and at what, is not to be foreseen by the one who is looked at. One contradiction proves
nothing, since pages change: a crawler loses its standing after `CONTRADICTIONS_MAX` of them, by at least
`WITNESSES_MIN` hosts. Then its key is void and its sites go to others; what it brought stays until purged.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets

import msgspec
from sqlalchemy import Connection, delete, func, select

from ipmicra.carrier.package import Package
from ipmicra.coordinator.admin.join_quota import NETWORK_BITS
from ipmicra.coordinator.store import delegations, events, hosts, orders
from ipmicra.coordinator.store.hosts import Host, HostState
from ipmicra.coordinator.store.liveness import is_awake, is_present, parse_report
from ipmicra.coordinator.store.schema import memory_table
from ipmicra.model.records import PageSeen
from ipmicra.model.similarity import bits_apart
from ipmicra.net.address_guard import special_kind
from ipmicra.protocol.host_messages import ObservePages, OrderDone, PageObservation

PENDING_MAX = 200
PENDING_SECONDS_MAX = 3_600.0
CONTRADICTIONS_MAX = 3
WITNESSES_MIN = 2
BITS_APART_MAX = 16  # of 64: beyond, two texts have little in common
_COMPARE, _CONTRADICTED = "compare ", "contradicted "


class PendingCheck(msgspec.Struct, frozen=True):
    """A page as its crawler brought it, waiting to be seen by somebody else."""

    url: str
    crawler: str
    content_hash: str
    similarity_hash: int
    witness: str = ""  # who was asked


def pick(connection: Connection, package: Package, share: float, now_s: float) -> None:
    """Choose pages to be seen again, by lot."""
    seen = [record for record in package.records if isinstance(record, PageSeen)]
    chosen = [record for record in seen if secrets.randbelow(1_000_000) < share * 1_000_000]
    if not chosen:
        return
    waiting = connection.execute(
        select(func.count()).where(memory_table.c.name.startswith(_COMPARE))
    ).scalar_one()
    for record in chosen[: max(0, PENDING_MAX - waiting)]:
        page = record.page
        brought = PendingCheck(
            record.url, package.header.crawler, page.content_hash.hex(), page.similarity_hash
        )
        _keep(connection, brought, now_s)


def ask(connection: Connection, now_s: float) -> None:
    """Have what waits seen from another network. What nobody can see in time is forgotten."""
    connection.execute(
        delete(memory_table).where(
            memory_table.c.name.startswith(_COMPARE),
            memory_table.c.saved_s < now_s - PENDING_SECONDS_MAX,
        )
    )
    unasked = [brought for brought in _waiting(connection) if not brought.witness]
    if not unasked:
        return
    everybody = {host.name: host for host in hosts.all_hosts(connection)}
    able = [h for h in everybody.values() if is_present(h, now_s) and is_awake(parse_report(h), now_s)]
    for brought in unasked:
        others = [host for host in able if is_elsewhere(host, everybody.get(brought.crawler))]
        if others:
            witness = secrets.choice(others).name
            orders.give(
                connection, witness, ObservePages(urls=(brought.url,)), _name(brought.url), now_s
            )
            _keep(connection, msgspec.structs.replace(brought, witness=witness), now_s)


def heard(
    connection: Connection, witness: str, body: ObservePages, done: OrderDone, now_s: float
) -> None:
    """What another host saw."""
    looks = {look.url: look for look in done.looks}
    for url in body.urls:
        kept, look = delegations.saved(connection, _name(url)), looks.get(url)
        connection.execute(delete(memory_table).where(memory_table.c.name == _name(url)))
        if kept is None or look is None or not look.content_hash:
            continue
        brought = msgspec.json.decode(kept, type=PendingCheck)
        if brought.witness == witness and contradicts(brought, look):
            _contradicted(connection, brought, witness, now_s)


def contradicts(brought: PendingCheck, look: PageObservation) -> bool:
    """Whether the two have little in common. Texts too short to tell contradict nobody."""
    if brought.content_hash == look.content_hash:
        return False
    if not brought.similarity_hash or not look.similarity_hash:
        return False
    return bits_apart(brought.similarity_hash, look.similarity_hash) > BITS_APART_MAX


def is_elsewhere(host: Host, brought_by: Host | None) -> bool:
    """Another host, and in another network as far as public addresses tell."""
    if brought_by is None:
        return True
    if host.name == brought_by.name:
        return False
    try:
        here, there = ipaddress.ip_address(host.address), ipaddress.ip_address(brought_by.address)
    except ValueError:
        return True
    if here.version != there.version or special_kind(here) is not None:
        return True
    return here not in ipaddress.ip_network(f"{there}/{NETWORK_BITS[there.version]}", strict=False)


def revoke(connection: Connection, crawler: str, why: str, now_s: float) -> None:
    """The crawler loses its standing: nothing more of it is believed."""
    host = hosts.host_named(connection, crawler)
    if host is not None and host.state is HostState.ENROLLED:
        hosts.end(connection, crawler, HostState.REVOKED)
        events.note(connection, "distrusted", crawler, why, now_s)


def _contradicted(connection: Connection, brought: PendingCheck, witness: str, now_s: float) -> None:
    name = _CONTRADICTED + brought.crawler
    kept = delegations.saved(connection, name)
    witnesses = [*(msgspec.json.decode(kept, type=list[str]) if kept else []), witness]
    delegations.save(connection, name, msgspec.json.encode(witnesses), now_s)
    events.note(
        connection, "contradicted", brought.crawler, f"{witness} saw another {brought.url}", now_s
    )
    if len(witnesses) >= CONTRADICTIONS_MAX and len(set(witnesses)) >= WITNESSES_MIN:
        why = f"{len(witnesses)} of its pages are others when {len(set(witnesses))} hosts look"
        revoke(connection, brought.crawler, why, now_s)


def _waiting(connection: Connection) -> list[PendingCheck]:
    bodies = connection.execute(
        select(memory_table.c.body)
        .where(memory_table.c.name.startswith(_COMPARE))
        .order_by(memory_table.c.name)
    ).scalars()
    return [msgspec.json.decode(body, type=PendingCheck) for body in bodies]


def _keep(connection: Connection, brought: PendingCheck, now_s: float) -> None:
    delegations.save(connection, _name(brought.url), msgspec.json.encode(brought), now_s)


def _name(url: str) -> str:
    return _COMPARE + hashlib.sha256(url.encode()).hexdigest()[:40]

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
from ipmicra.coordinator.store import blobs, events, hosts, orders
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


def select_pages(connection: Connection, package: Package, share: float, now_s: float) -> None:
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
        check = PendingCheck(
            record.url, package.header.crawler, page.content_hash.hex(), page.similarity_hash
        )
        _save(connection, check, now_s)


def send_checks(connection: Connection, now_s: float) -> None:
    """Have what waits seen from another network. What nobody can see in time is forgotten."""
    connection.execute(
        delete(memory_table).where(
            memory_table.c.name.startswith(_COMPARE),
            memory_table.c.saved_s < now_s - PENDING_SECONDS_MAX,
        )
    )
    unasked = [check for check in _pending(connection) if not check.witness]
    if not unasked:
        return
    hosts_by_name = {host.name: host for host in hosts.all_hosts(connection)}
    able = [
        h for h in hosts_by_name.values() if is_present(h, now_s) and is_awake(parse_report(h), now_s)
    ]
    for check in unasked:
        others = [host for host in able if is_elsewhere(host, hosts_by_name.get(check.crawler))]
        if others:
            witness = secrets.choice(others).name
            orders.give(connection, witness, ObservePages(urls=(check.url,)), _name(check.url), now_s)
            _save(connection, msgspec.structs.replace(check, witness=witness), now_s)


def on_pages_observed(
    connection: Connection, witness: str, body: ObservePages, done: OrderDone, now_s: float
) -> None:
    """What another host saw."""
    observations = {observation.url: observation for observation in done.looks}
    for url in body.urls:
        kept, observation = blobs.read(connection, _name(url)), observations.get(url)
        connection.execute(delete(memory_table).where(memory_table.c.name == _name(url)))
        if kept is None or observation is None or not observation.content_hash:
            continue
        check = msgspec.json.decode(kept, type=PendingCheck)
        if check.witness == witness and contradicts(check, observation):
            _record_contradiction(connection, check, witness, now_s)


def contradicts(check: PendingCheck, observation: PageObservation) -> bool:
    """Whether the two have little in common. Texts too short to tell contradict nobody."""
    if check.content_hash == observation.content_hash:
        return False
    if not check.similarity_hash or not observation.similarity_hash:
        return False
    return bits_apart(check.similarity_hash, observation.similarity_hash) > BITS_APART_MAX


def is_elsewhere(host: Host, crawler_host: Host | None) -> bool:
    """Another host, and in another network as far as public addresses tell."""
    if crawler_host is None:
        return True
    if host.name == crawler_host.name:
        return False
    try:
        here, there = ipaddress.ip_address(host.address), ipaddress.ip_address(crawler_host.address)
    except ValueError:
        return True
    if here.version != there.version or special_kind(here) is not None:
        return True
    return here not in ipaddress.ip_network(f"{there}/{NETWORK_BITS[there.version]}", strict=False)


def revoke(connection: Connection, crawler: str, why: str, now_s: float) -> None:
    """The crawler loses its standing: nothing more of it is believed."""
    host = hosts.host_named(connection, crawler)
    if host is not None and host.state is HostState.ENROLLED:
        hosts.end_host(connection, crawler, HostState.REVOKED)
        events.record(connection, "distrusted", crawler, why, now_s)


def _record_contradiction(
    connection: Connection, check: PendingCheck, witness: str, now_s: float
) -> None:
    name = _CONTRADICTED + check.crawler
    kept = blobs.read(connection, name)
    witnesses = [*(msgspec.json.decode(kept, type=list[str]) if kept else []), witness]
    blobs.save(connection, name, msgspec.json.encode(witnesses), now_s)
    events.record(connection, "contradicted", check.crawler, f"{witness} saw another {check.url}", now_s)
    if len(witnesses) >= CONTRADICTIONS_MAX and len(set(witnesses)) >= WITNESSES_MIN:
        why = f"{len(witnesses)} of its pages are others when {len(set(witnesses))} hosts look"
        revoke(connection, check.crawler, why, now_s)


def _pending(connection: Connection) -> list[PendingCheck]:
    bodies = connection.execute(
        select(memory_table.c.body)
        .where(memory_table.c.name.startswith(_COMPARE))
        .order_by(memory_table.c.name)
    ).scalars()
    return [msgspec.json.decode(body, type=PendingCheck) for body in bodies]


def _save(connection: Connection, check: PendingCheck, now_s: float) -> None:
    blobs.save(connection, _name(check.url), msgspec.json.encode(check), now_s)


def _name(url: str) -> str:
    return _COMPARE + hashlib.sha256(url.encode()).hexdigest()[:40]

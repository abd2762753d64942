"""Pages that were sent -> a share of them fetched by other hosts too, and evidence about their crawlers.

    select_pages    when a package is integrated: a few of its pages are to be seen again
    send_checks   in the leader's round: orders to hosts in other networks
    on_pages_observed     when such a host reports: one look more, and perhaps a verdict

A case begins with one other host. `jury` decides when more are asked and when they contradict the
crawler; a control observation after the same time shows whether the page changes by itself; `trust` adds
the result to the evidence about the crawler and about the other hosts. Invariant: a crawler cannot
predict which of its pages are checked, or by which hosts. A crawler that is no longer trusted is revoked,
or reported if the operator decides; its pages stay until they are purged.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from collections.abc import Callable, Sequence
from typing import assert_never

import msgspec
from sqlalchemy import Connection, delete, func, select

from ipmicra.carrier.package import Package
from ipmicra.coordinator.admin.join_quota import NETWORK_BITS
from ipmicra.coordinator.ingest import trust_records
from ipmicra.coordinator.ingest.jury import ROUNDS, Fingerprint, Outcome, Verdict, are_alike, verdict_on
from ipmicra.coordinator.ingest.trust import is_control_wanted
from ipmicra.coordinator.store import blobs, events, hosts, orders
from ipmicra.coordinator.store.hosts import Host, HostState
from ipmicra.coordinator.store.liveness import is_awake, is_present, parse_report
from ipmicra.coordinator.store.sql.schema import memory_table
from ipmicra.model.page import Page
from ipmicra.model.records import PageChanged, PageSeen
from ipmicra.model.urls import Url, site_of
from ipmicra.net.address_guard import special_kind
from ipmicra.protocol.host_messages import ObservePages, OrderDone, PageObservation

PENDING_MAX = 200
PENDING_SECONDS_MAX = 7_200.0
CONTROL_SECONDS_MIN, CONTROL_SECONDS_MAX = 5.0, 1_800.0  # after a verdict
_CASE = "compare "


class PendingCheck(msgspec.Struct, frozen=True):
    """A page as its crawler sent it, and what others have seen of it so far."""

    url: str
    crawler: str
    content_hash: str
    similarity_hash: int
    fetched_s: float = 0.0
    began_s: float = 0.0
    wanted: int = 1  # witnesses in all
    asked: tuple[str, ...] = ()  # those that have not answered yet
    unable: tuple[str, ...] = ()  # those that could not see it: robots.txt, an error
    looks: tuple[tuple[str, str, int], ...] = ()  # witness, content hash, similarity hash
    is_exhausted: bool = False  # no other host is left to ask
    control_due_s: float | None = None  # a verdict was reached; a control look is wanted then
    is_accused: bool = False  # the verdict was that the jury contradicts the crawler
    seen_hash: str = ""  # what the jury saw
    seen_similarity: int = 0
    witness: str = ""  # in rows of version 0.1: the one host that was asked

    def __post_init__(self) -> None:
        if self.witness and not (self.asked or self.unable or self.looks):
            msgspec.structs.force_setattr(self, "asked", (self.witness,))

    def prints(self) -> list[Fingerprint]:
        return [Fingerprint(content_hash, similarity) for _, content_hash, similarity in self.looks]


def select_pages(
    connection: Connection,
    package: Package,
    share: float,
    now_s: float,
    page_at: Callable[[str], Page | None] = lambda _: None,
) -> None:
    """Choose pages to be seen again, at random. A delta is looked up whole in the index by `page_at`."""
    pages = [record for record in package.records if isinstance(record, PageSeen | PageChanged)]
    chosen = [record for record in pages if secrets.randbelow(1_000_000) < share * 1_000_000]
    if not chosen:
        return
    waiting = connection.execute(
        select(func.count()).where(memory_table.c.name.startswith(_CASE))
    ).scalar_one()
    for record in chosen[: max(0, PENDING_MAX - waiting)]:
        page = record.page if isinstance(record, PageSeen) else page_at(record.url)
        if page is not None:
            case = PendingCheck(
                url=record.url,
                crawler=package.header.crawler,
                content_hash=page.content_hash.hex(),
                similarity_hash=page.similarity_hash,
                fetched_s=record.fetched_at_ms / 1000,
                began_s=now_s,
            )
            _keep(connection, case, now_s)


def send_checks(connection: Connection, now_s: float, revokes: bool = True) -> None:
    """Send waiting checks to hosts in other networks. Checks that no host can do in time are dropped.

    A case that has asked all hosts is decided by those that answered.
    """
    old = memory_table.c.saved_s < now_s - PENDING_SECONDS_MAX
    connection.execute(delete(memory_table).where(memory_table.c.name.startswith(_CASE), old))
    waiting = [case for case in pending_checks(connection) if _lacks_witnesses(case, now_s)]
    if not waiting:
        return
    everybody = {host.name: host for host in hosts.all_hosts(connection)}
    able = [h for h in everybody.values() if is_present(h, now_s) and is_awake(parse_report(h), now_s)]
    for case in waiting:
        crawler = everybody.get(case.crawler)
        case = _ask(connection, case, [h.name for h in able if is_elsewhere(h, crawler)], now_s)
        if case.is_exhausted and not case.asked:
            _Bench(connection, now_s, revokes).decide(case)


def _lacks_witnesses(case: PendingCheck, now_s: float) -> bool:
    if case.control_due_s is not None:
        return not case.asked and case.control_due_s <= now_s
    return not case.is_exhausted and len(case.asked) + len(case.looks) < case.wanted


def _ask(connection: Connection, case: PendingCheck, able: Sequence[str], now_s: float) -> PendingCheck:
    is_control = case.control_due_s is not None
    busy = {*case.asked, *case.unable, *(() if is_control else [look[0] for look in case.looks])}
    free = [name for name in able if name not in busy]
    missing = 1 if is_control else case.wanted - len(case.asked) - len(case.looks)
    witnesses = [free.pop(secrets.randbelow(len(free))) for _ in range(min(missing, len(free)))]
    key = _name(case.url) + (" control" if is_control else "")
    for witness in witnesses:
        orders.give(connection, witness, ObservePages(urls=(case.url,)), key, now_s)
    if not witnesses and not case.looks:
        return case  # no host is present yet
    case = msgspec.structs.replace(
        case, asked=(*case.asked, *witnesses), is_exhausted=len(witnesses) < missing
    )
    _keep(connection, case, now_s)
    return case


def on_pages_observed(
    connection: Connection,
    witness: str,
    body: ObservePages,
    done: OrderDone,
    now_s: float,
    revokes: bool = True,
) -> None:
    """Handle the observation of another host. `revokes`: whether a crawler that is no longer trusted is
    revoked at once.
    """
    looks = {look.url: look for look in done.looks}
    for url in body.urls:
        case = _case(connection, url)
        if case is not None and witness in case.asked:
            case = _with_look(case, witness, looks.get(url))
            _keep(connection, case, now_s)
            if not case.asked:
                _Bench(connection, now_s, revokes).decide(case)


def _with_look(case: PendingCheck, witness: str, look: PageObservation | None) -> PendingCheck:
    asked = tuple(name for name in case.asked if name != witness)
    if look is None or not look.content_hash:
        return msgspec.structs.replace(case, asked=asked, unable=(*case.unable, witness))
    seen = (witness, look.content_hash, look.similarity_hash)
    return msgspec.structs.replace(case, asked=asked, looks=(*case.looks, seen))


class _Bench:
    """Where cases are decided, in one transaction."""

    def __init__(self, connection: Connection, now_s: float, revokes: bool) -> None:
        self._connection, self._now_s, self._revokes = connection, now_s, revokes

    def decide(self, case: PendingCheck) -> None:
        """Decide a case in which all asked hosts have answered."""
        if case.control_due_s is not None:
            self._control(case)
            return
        if len(case.looks) < case.wanted and not case.is_exhausted:
            return
        sent = Fingerprint(case.content_hash, case.similarity_hash)
        verdict = verdict_on(sent, case.prints(), case.is_exhausted)
        match verdict.outcome:
            case Outcome.MORE:
                self._keep(case, wanted=verdict.witnesses)
            case Outcome.CONFIRMED:
                self._on_confirmed(case, verdict)
            case Outcome.CONTRADICTED:
                self._await_control(case, is_accused=True, seen=case.prints()[min(verdict.agreeing)])
            case Outcome.UNDECIDED if verdict.agreeing:
                why = f"too few hosts to decide: {_names(case, verdict)} saw another {case.url}"
                events.record(
                    self._connection, events.EventKind.SUSPECTED, case.crawler, why, self._now_s
                )
                self._close(case)
            case Outcome.UNDECIDED | Outcome.DYNAMIC:
                self._close(case)
            case never:
                assert_never(never)

    def _on_confirmed(self, case: PendingCheck, verdict: Verdict) -> None:
        self._judge(case, case.crawler, is_contradicted=False)
        self._judge_witnesses(case, verdict.agreeing)
        change = trust_records.change_of(self._connection, site_of(Url(case.url)))
        if is_control_wanted(change, secrets.randbelow(1_000_000) / 1_000_000):
            seen = Fingerprint(case.content_hash, case.similarity_hash)
            self._await_control(case, is_accused=False, seen=seen)
        else:
            self._close(case)

    def _await_control(self, case: PendingCheck, is_accused: bool, seen: Fingerprint) -> None:
        """The page is looked at again after as long as lay between the crawler's visit and the first look."""
        lag_s = min(max(case.began_s - case.fetched_s, CONTROL_SECONDS_MIN), CONTROL_SECONDS_MAX)
        self._keep(
            case,
            control_due_s=self._now_s + lag_s,
            is_accused=is_accused,
            seen_hash=seen.content_hash,
            seen_similarity=seen.similarity_hash,
            unable=(),
            wanted=len(case.looks) + 1,
        )

    def _control(self, case: PendingCheck) -> None:
        if len(case.looks) < case.wanted:
            self._close(case)
            return
        seen, again = Fingerprint(case.seen_hash, case.seen_similarity), case.prints()[-1]
        has_changed = are_alike(seen, again) is not True
        site = site_of(Url(case.url))
        trust_records.note_control(self._connection, site, has_changed, not case.is_accused, self._now_s)
        if case.is_accused and not has_changed:
            jury = msgspec.structs.replace(case, looks=case.looks[:-1])
            agreeing = frozenset(
                at for at, fingerprint in enumerate(jury.prints()) if are_alike(seen, fingerprint)
            )
            witnesses = ", ".join(jury.looks[at][0] for at in sorted(agreeing))
            why = f"{len(agreeing)} of {len(jury.looks)} hosts saw another {case.url}: {witnesses}"
            events.record(
                self._connection, events.EventKind.CONTRADICTED, case.crawler, why, self._now_s
            )
            self._judge(case, case.crawler, is_contradicted=True)
            self._judge_witnesses(jury, agreeing)
        self._close(case)

    def _judge_witnesses(self, case: PendingCheck, agreeing: frozenset[int]) -> None:
        """In a jury each look is compared with the others'."""
        if len(case.looks) >= ROUNDS[1]:
            for at, (witness, *_) in enumerate(case.looks):
                self._judge(case, witness, is_contradicted=at not in agreeing)

    def _judge(self, case: PendingCheck, crawler: str, is_contradicted: bool) -> None:
        site = site_of(Url(case.url))
        before, standing = trust_records.note_comparison(
            self._connection, crawler, site, is_contradicted, self._now_s
        )
        if standing.is_believed:
            return
        evidence = f"{standing.contradicted} of {standing.compared} comparisons contradict it"
        if self._revokes:
            revoke(self._connection, crawler, evidence, self._now_s)
        elif before.is_believed:
            why = f"{evidence}; revoke it, or not: ipmicra coordinator revoke {crawler}"
            events.record(self._connection, events.EventKind.SUSPECTED, crawler, why, self._now_s)

    def _keep(self, case: PendingCheck, **changed: object) -> None:
        _keep(self._connection, msgspec.structs.replace(case, **changed), self._now_s)

    def _close(self, case: PendingCheck) -> None:
        self._connection.execute(delete(memory_table).where(memory_table.c.name == _name(case.url)))


def _names(case: PendingCheck, verdict: Verdict) -> str:
    return ", ".join(case.looks[at][0] for at in sorted(verdict.agreeing))


def is_elsewhere(host: Host, sender: Host | None) -> bool:
    """Whether it is another host in another network, judged by public addresses."""
    if sender is None:
        return True
    if host.name == sender.name:
        return False
    try:
        here, there = ipaddress.ip_address(host.address), ipaddress.ip_address(sender.address)
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
        events.record(connection, events.EventKind.DISTRUSTED, crawler, why, now_s)


def is_anything_pending(connection: Connection) -> bool:
    """Whether any page waits for a verdict or a control look."""
    query = select(memory_table.c.name).where(memory_table.c.name.startswith(_CASE)).limit(1)
    return connection.execute(query).first() is not None


def pending_checks(connection: Connection) -> list[PendingCheck]:
    """Pages that wait for a verdict or a control look."""
    bodies = connection.execute(
        select(memory_table.c.body)
        .where(memory_table.c.name.startswith(_CASE))
        .order_by(memory_table.c.name)
    ).scalars()
    return [msgspec.json.decode(body, type=PendingCheck) for body in bodies]


def _case(connection: Connection, url: str) -> PendingCheck | None:
    """The case, locked for this transaction: two hosts may report at once."""
    query = select(memory_table.c.body).where(memory_table.c.name == _name(url)).with_for_update()
    body: bytes | None = connection.execute(query).scalar()
    return None if body is None else msgspec.json.decode(body, type=PendingCheck)


def _keep(connection: Connection, case: PendingCheck, now_s: float) -> None:
    blobs.save(connection, _name(case.url), msgspec.json.encode(case), now_s)


def _name(url: str) -> str:
    return _CASE + hashlib.sha256(url.encode()).hexdigest()[:40]

"""A URL -> its crawler and the reasons: subnet path, organisation, decision, probes, loads, other
strategies.

Invariant: reads rows and sends no probes. The choice of another strategy is computed from known round
trips; a probe of an unmeasured pair counts as not sent.
"""

from __future__ import annotations

import ipaddress
import random

from sqlalchemy import Connection

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.coordinator.leader.probe_dispatcher import PROBE_NOT_SENT
from ipmicra.coordinator.store import delegations, hosts, sites
from ipmicra.coordinator.store.delegations import DelegationRow
from ipmicra.coordinator.store.liveness import is_present, parse_report, profile_of
from ipmicra.coordinator.store.sites import SiteRow
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import IN_WORDS
from ipmicra.delegation.driver import drive
from ipmicra.delegation.evidence.measurements import RoundTripRecord
from ipmicra.delegation.registry import STRATEGIES, strategy_named
from ipmicra.delegation.subnets import UNKNOWN_ORGANISATION, SubnetLookup
from ipmicra.errors import OperatorFault
from ipmicra.hierarchy import Subnet
from ipmicra.model.probes import ProbeAnswer, Target
from ipmicra.model.urls import Normaliser, Site, site_of
from ipmicra.protocol.coordinator_api import (
    Candidate,
    Explanation,
    Nearest,
    RememberedRoundTrip,
    SubnetSeen,
)

SEED = 0  # for strategies that draw: the same question gets the same answer


def site_in(url: str) -> Site:
    normal = Normaliser().url(url if "://" in url else f"https://{url}")
    if normal is None:
        raise OperatorFault(f"{url!r} is not a valid URL; example: https://example.org/")
    return site_of(normal)


def nearest(connection: Connection, site: str) -> Nearest:
    row = sites.site_named(connection, site)
    if row is None:
        return Nearest(site=site, state="unknown", note="this site is not known yet")
    return _nearest(row, _decision(connection, row))


def explain(connection: Connection, tree: SubnetLookup, site: str, now_s: float) -> Explanation:
    row = sites.site_named(connection, site)
    if row is None or not row.address:
        note = "the site's address is not known yet"
        return Explanation(
            nearest=nearest(connection, site), path_note=note, candidates=_candidates(connection, now_s)
        )
    address = ipaddress.ip_address(row.address)
    path, note = _path(tree, address)
    delegated = _decision(connection, row)
    records = [r for r in delegations.saved_round_trips(connection) if _is_of(r, address)]
    reasons = None if delegated is None else delegated.reasons
    return Explanation(
        nearest=_nearest(row, delegated),
        path=path,
        path_note=note,
        decided_by="" if reasons is None else reasons.strategy,
        age_s=None if delegated is None else now_s - delegated.decided_s,
        probes=[] if reasons is None else list(reasons.probes),
        steps=[] if reasons is None else list(reasons.steps),
        remembered=[_remembered(record, now_s) for record in records],
        candidates=_candidates(connection, now_s),
        others=_other_choices(
            connection, tree, Target.of(site, address), _known_ms(records, delegated), now_s
        ),
    )


def _nearest(row: SiteRow, delegated: DelegationRow | None) -> Nearest:
    reasons = None if delegated is None else delegated.reasons
    return Nearest(
        site=row.name,
        state=row.state,
        crawler=row.crawler,
        address=row.address,
        subnet=row.unit,
        round_trip_ms=None if reasons is None else reasons.round_trip_ms,
        why="" if reasons is None else reasons.words,
        decided_s=None if delegated is None else delegated.decided_s,
        note=row.note,
    )


def _decision(connection: Connection, row: SiteRow) -> DelegationRow | None:
    found = delegations.delegation_rows(connection, [row.unit, row.address])
    return found.get(row.unit) or found.get(row.address)


def _path(tree: SubnetLookup, address: IPAddress) -> tuple[list[SubnetSeen], str]:
    subnet: Subnet | None = tree.smallest(address)
    path: list[SubnetSeen] = []
    while subnet is not None:
        path.insert(0, _seen(tree, subnet))
        subnet = tree.parent(subnet)
    if len(path) > 1:
        return path, ""
    return path, f"no registered subnet contains {address}: it is delegated as a single address"


def _seen(tree: SubnetLookup, subnet: Subnet) -> SubnetSeen:
    organisation = tree.organisation_of(subnet)
    return SubnetSeen(
        range=str(tree.range_of(subnet)),
        organisation=""
        if organisation == UNKNOWN_ORGANISATION
        else tree.organisation_name(organisation),
        country=tree.country_of(subnet),
        registry=tree.registry_of(subnet),
    )


def _is_of(record: RoundTripRecord, address: IPAddress) -> bool:
    family, start, end = record.place
    return AddressRange(4 if family == 4 else 6, int(start), int(end)).holds(address)


def _remembered(record: RoundTripRecord, now_s: float) -> RememberedRoundTrip:
    return RememberedRoundTrip(
        crawler=record.crawler,
        round_trip_ms=record.smoothed_ms,
        age_s=record.age_s(now_s),
        probes=record.active_count,
        fetches=record.passive_count,
    )


def _candidates(connection: Connection, now_s: float) -> list[Candidate]:
    counts = sites.counts_by_crawler(connection)
    present = [host for host in hosts.all_hosts(connection) if is_present(host, now_s)]
    return [
        Candidate(
            crawler=host.name,
            awake=profile_of(host, now_s).awake,
            sites=counts.get(host.name, 0),
            bytes_today=parse_report(host).bytes_today,
            capacity_bytes_a_day=parse_report(host).capacity_bytes_a_day,
        )
        for host in present
    ]


def _known_ms(records: list[RoundTripRecord], delegated: DelegationRow | None) -> dict[str, float]:
    """The latest known round trip of each crawler: the current one, or that of the decision."""
    probed = () if delegated is None else delegated.reasons.probes
    known = {crawler: round_trip_ms for crawler, round_trip_ms, _ in probed if round_trip_ms is not None}
    return known | {r.crawler: r.smoothed_ms for r in records if r.smoothed_ms is not None}


def _other_choices(
    connection: Connection, tree: SubnetLookup, target: Target, known_ms: dict[str, float], now_s: float
) -> dict[str, str]:
    profiles = [profile_of(h, now_s) for h in hosts.all_hosts(connection) if is_present(h, now_s)]
    return {name: _choice(name, tree, target, profiles, known_ms, now_s) for name in STRATEGIES}


def _choice(
    name: str,
    tree: SubnetLookup,
    target: Target,
    profiles: list[CrawlerProfile],
    known_ms: dict[str, float],
    now_s: float,
) -> str:
    strategy = strategy_named(name, tree, random.Random(SEED))  # noqa: S311 - fair, not secret
    for profile in profiles:
        strategy.on_crawler_joined(profile)
    answers = {crawler: ProbeAnswer(round_trip_ms) for crawler, round_trip_ms in known_ms.items()}
    decision = drive(
        strategy.delegate(target, now_s), lambda probe: answers.get(probe.crawler, PROBE_NOT_SENT)
    )
    return decision.crawler or f"nobody: {IN_WORDS[decision.why]}"

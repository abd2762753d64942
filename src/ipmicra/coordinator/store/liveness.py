"""Rows of hosts -> the crawlers that are present, awake or asleep.

Invariant: a crawler is present while its host's lease runs. It is asleep if it has never reported, if its
working hours have ended since its last report (no host is probed outside its hours), or if it moves to
another host (it gets no new sites).
"""

from __future__ import annotations

import ipaddress
import math

import msgspec
from sqlalchemy import Connection

from ipmicra.addresses import IPAddress
from ipmicra.coordinator.store import moves
from ipmicra.coordinator.store.hosts import Host, HostState, all_hosts
from ipmicra.delegation.crawlers import CrawlerProfile, GeoPosition
from ipmicra.model.ids import CrawlerId


class HostReportView(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a host's report that delegation uses."""

    awake: bool = False
    awake_until_ms: int | None = None
    resting: str = ""
    capacity_bytes_a_day: int = 0
    bytes_today: int = 0
    position: tuple[float, float] | None = None


def present_crawlers(connection: Connection, now_s: float) -> dict[CrawlerId, CrawlerProfile]:
    """All crawlers whose lease runs, by name."""
    hosts = (host for host in all_hosts(connection) if is_present(host, now_s))
    profiles = {CrawlerId(host.name): profile_of(host, now_s) for host in hosts}
    for mover in moves.all_moves(connection).keys() & profiles.keys():
        name = CrawlerId(mover)
        profiles[name] = msgspec.structs.replace(profiles[name], awake=False)
    return profiles


def is_present(host: Host, now_s: float) -> bool:
    lease_s = host.lease_until_s
    return host.state is HostState.ENROLLED and lease_s is not None and lease_s > now_s


def profile_of(host: Host, now_s: float) -> CrawlerProfile:
    report = parse_report(host)
    return CrawlerProfile(
        id=CrawlerId(host.name),
        address=_address(host.address),
        capacity_bytes_a_day=report.capacity_bytes_a_day or math.inf,
        awake=is_awake(report, now_s),
        position=None if report.position is None else GeoPosition(*report.position),
    )


def parse_report(host: Host) -> HostReportView:
    try:
        return msgspec.convert(host.report, HostReportView)
    except msgspec.ValidationError:
        return HostReportView()


def is_awake(report: HostReportView, now_s: float) -> bool:
    in_hours = report.awake_until_ms is None or now_s * 1000 < report.awake_until_ms
    return report.awake and in_hours


def _address(text: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None

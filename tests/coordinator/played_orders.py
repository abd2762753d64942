"""Orders of a running coordinator, as hosts that tests play wait for them and answer them."""

from __future__ import annotations

import time

from ipmicra.protocol.host_messages import AssignSites, Order, OrderDone, ProbeResult, ProbeTargets
from tests.coordinator.played_host import PlayedHost


def next_order(host: PlayedHost, kind: type, site: str) -> Order:
    """The next open order of a kind that is about a site, waited for as a host does."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for order in host.orders(wait=5).orders:
            if isinstance(order.body, kind) and site in sites_of(order):
                return order
    raise AssertionError(f"no {kind.__name__} about {site} for {host.name}")


def sites_of(order: Order) -> set[str]:
    match order.body:
        case ProbeTargets(targets=targets):
            return {target.site for target in targets}
        case AssignSites(grants=grants):
            return {grant.site for grant in grants}
    return set()


def take_all(liar: PlayedHost, sites: int) -> list[str]:
    """Answer every probe as the nearest, until so many sites are its own."""
    taken: list[str] = []
    while len(taken) < sites:
        for order in liar.orders(wait=1).orders:
            done = OrderDone(number=order.number)
            if isinstance(order.body, ProbeTargets):
                probes = tuple(
                    ProbeResult(site=target.site, address=target.address, round_trip_ms=0.001)
                    for target in order.body.targets
                )
                done = OrderDone(number=order.number, probes=probes)
            elif isinstance(order.body, AssignSites):
                taken += [grant.site for grant in order.body.grants if grant.site not in taken]
            liar.report(done, awake=True)
    return taken

"""Which peer should crawl a site, and which to measure next: the rule as tables."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.nearness import (
    NO_PEER,
    HandOverRule,
    NearbyPeers,
    costs_ms,
    lower_bounds_ms,
    prices_ms,
    row_to_delegate,
    row_to_measure,
)
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, PeerMeasurement, SiteRecord
from tests.overlay.network import Network, random_point, site_faults

NAN, INF = float("nan"), float("inf")
SPACE = ZoneBox((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))


@pytest.mark.parametrize(
    ("predicted", "measured", "present", "chosen"),
    [
        ([5.0, 3.0, 9.0], [NAN, NAN, NAN], NO_PEER, 1),  # nothing measured: the nearest by coordinates
        ([5.0, 3.0, 9.0], [7.0, NAN, 6.0], NO_PEER, 2),  # measured: only peers with a round trip
        ([5.0, 3.0, 9.0], [INF, NAN, NAN], NO_PEER, 1),  # the only one asked got no answer
        ([5.0, 5.1, 9.0], [NAN, NAN, NAN], 1, 1),  # a gain of 2 % is too little
        ([5.0, 6.0, 9.0], [NAN, NAN, NAN], 1, 0),
    ],
)
def test_the_least_cost_takes_the_site_if_it_gains_enough(
    predicted: list[float], measured: list[float], present: int, chosen: int
) -> None:
    costs = costs_ms(np.array(predicted), np.array(measured), np.zeros(3))
    assert row_to_delegate(costs, present, HandOverRule()) == chosen


def test_a_loaded_peer_costs_more_and_a_capable_one_less() -> None:
    around = NearbyPeers(np.zeros((3, 3)), np.array([4.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    prices = prices_ms(around, 1.0, NO_PEER, HandOverRule(price_ms=10.0))
    assert prices[0] > prices[1] > prices[2]


def test_no_bound_is_below_what_the_landmarks_allow() -> None:
    to_landmarks = np.array([[10.0, 50.0], [12.0, NAN], [NAN, NAN]])
    assert lower_bounds_ms(to_landmarks, np.array([10.0, 20.0])).tolist() == [30.0, 2.0, 0.0]


def test_no_peer_is_asked_twice() -> None:
    lower_bounds, prices = np.array([1.0, 2.0]), np.zeros(2)
    assert row_to_measure(lower_bounds, np.array([INF, NAN]), prices) == 1
    assert row_to_measure(lower_bounds, np.array([4.0, 9.0]), prices) == NO_PEER


def test_peers_measure_and_hand_over() -> None:
    """Round trips differ from the coordinates: only measuring finds the nearest."""
    dice = Random(4)
    rule = HandOverRule(price_ms=0.0, measured_max=8)
    network = Network(SPACE, PeerRules(hand_over=rule))
    asked: dict[str, set[PeerId]] = {}

    def round_trip(peer: PeerId, site: str) -> float | None:
        asked.setdefault(site, set()).add(peer)
        return Random(f"{peer} {site}").uniform(1.0, 100.0)

    network.round_trip = round_trip
    first = network.add("p00", random_point(dice, SPACE))
    for number in range(1, 14):
        network.add(f"p{number:02}", random_point(dice, SPACE), first)
    network.run(6)
    for number in range(20):
        network.submit(f"s{number}.example", random_point(dice, SPACE), first)
    network.run(60)
    assert site_faults(network, 20) == []
    for site, peers in asked.items():
        assert len(peers) == 8
        crawler = next(peer for peer in network.peers.values() if site in peer.site_table.crawled)
        assert crawler.id == min(peers, key=lambda peer: round_trip(peer, site) or INF)


def test_a_measured_list_survives_its_home_and_the_delegate() -> None:
    record = SiteRecord("s.example", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0))
    descriptors = [PeerDescriptor(PeerId(f"p{i}"), (float(i), 0.0, 0.0), ()) for i in range(3)]
    listed = tuple(
        PeerMeasurement(descriptor.peer, 10.0 + i, descriptor.point)
        for i, descriptor in enumerate(descriptors)
    )
    network, dice = Network(SPACE, PeerRules(hand_over=HandOverRule())), Random(1)
    first = network.add("p0", random_point(dice, SPACE))
    for number in range(1, 6):
        network.add(f"p{number}", random_point(dice, SPACE), first)
    network.run(6)
    network.submit("s.example", record.point, first, measured=listed)
    network.run(11)
    for victim in (
        "p0",
        next(p.id for p in network.peers.values() if "s.example" in p.site_table.home_records),
    ):
        network.peers.pop(PeerId(victim), None)
    network.run(60)
    homes = [peer for peer in network.peers.values() if "s.example" in peer.site_table.home_records]
    crawlers = [peer.id for peer in network.peers.values() if "s.example" in peer.site_table.crawled]
    assert len(homes) == 1
    assert crawlers == [min(set(network.peers) & {"p1", "p2"}, default=homes[0].id)]

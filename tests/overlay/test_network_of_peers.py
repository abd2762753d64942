"""A CAN of peers, as a scenario: the zones always tile the space, and routed messages arrive."""

from __future__ import annotations

from math import dist
from random import Random

import pytest

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.nearness import HandOverRule
from ipmicra.overlay.can.sites.registrar import name_key
from ipmicra.protocol.overlay_messages import PeerId
from tests.overlay.network import Network, random_point, site_faults, tiling_faults

SPACE = ZoneBox((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
SCHEMES = [
    "DL/blind",
    "DL/owner",
    "MPP",
    "NH",
    "GH/median",
    "MP",
    "MP/slab",
    "MP_30_NH/median",
    "DL_30_NH",
]


def grown(scheme: str, peers: int, sites: int, seed: int, rule: HandOverRule | None = None) -> Network:
    dice = Random(seed)
    rules = PeerRules(switch=scheme, peers_expected=peers, hand_over=rule)
    network = Network(SPACE, rules)
    network.add("p000", random_point(dice, SPACE))
    for i in range(sites):
        network.submit(f"s{i}.example", random_point(dice, SPACE), network.peers[PeerId("p000")])
    for i in range(1, peers):
        via = network.peers[dice.choice(sorted(network.peers))]
        network.add(f"p{i:03}", random_point(dice, SPACE), via)
    return network


@pytest.mark.parametrize("scheme", SCHEMES)
def test_joining_peers_tile_the_space_and_share_the_sites(scheme: str) -> None:
    network = grown(scheme, peers=40, sites=60, seed=3)
    assert tiling_faults(network) == []
    assert site_faults(network, 60) == []


@pytest.mark.parametrize("scheme", ["MP", "MP/slab"])
def test_the_middle_point_scheme_keeps_every_peer_inside_its_zone(scheme: str) -> None:
    network = grown(scheme, peers=60, sites=0, seed=5)
    assert all(peer.owns(peer.descriptor.point) for peer in network.peers.values())


def test_routed_messages_reach_the_owner_from_anywhere() -> None:
    network, dice = grown("MP/slab", peers=50, sites=0, seed=7), Random(1)
    for _ in range(200):
        key = random_point(dice, SPACE)
        asker = network.peers[dice.choice(sorted(network.peers))]
        answer = network.locate(key, asker)
        assert answer is not None
        assert network.peers[answer.owner.peer].owns(key)
        assert answer.hops <= 20


def test_an_orderly_leaver_leaves_no_gap_and_loses_no_site() -> None:
    network, dice = grown("MP/slab", peers=30, sites=40, seed=9), Random(2)
    for _ in range(15):
        network.leave(dice.choice(sorted(network.peers)))
        network.run(30)
        assert tiling_faults(network) == []
        assert site_faults(network, 40) == []


def test_a_crashed_peer_is_taken_over_with_its_sites() -> None:
    network, dice = grown("MP/slab", peers=30, sites=40, seed=9), Random(4)
    network.run(12)
    for _ in range(8):
        network.crash(dice.choice(sorted(network.peers)))
        network.run(60)
        assert tiling_faults(network) == []
        assert site_faults(network, 40) == []


def test_a_fifth_of_the_peers_crash_at_once() -> None:
    network, dice = grown("MP/slab", peers=50, sites=80, seed=13), Random(6)
    network.run(12)
    for name in dice.sample(sorted(network.peers), 10):
        network.crash(name)
    network.run(90)
    assert tiling_faults(network) == []
    assert site_faults(network, 80) == []


def test_handing_over_moves_sites_to_nearer_peers_and_comes_to_rest() -> None:
    plain = grown("MP/slab", peers=40, sites=100, seed=21)
    ours = grown("MP/slab", peers=40, sites=100, seed=21, rule=HandOverRule(price_ms=0.0))
    ours.run(40)
    assert site_faults(ours, 100) == []
    assert mean_distance(ours) < 0.95 * mean_distance(plain)
    before = delegates(ours)
    ours.run(40)
    assert delegates(ours) == before


def delegates(network: Network) -> dict[str, PeerId]:
    return {site: peer.id for peer in network.peers.values() for site in peer.site_table.crawled}


def mean_distance(network: Network) -> float:
    lengths = [
        dist(record.point, peer.descriptor.point)
        for peer in network.peers.values()
        for record in peer.site_table.crawled.values()
    ]
    return sum(lengths) / len(lengths)


def test_a_name_is_not_registered_a_second_time_when_its_registrar_died() -> None:
    """A link to a known site is found right after: the site keeps its one home."""
    network, rules = grown("MP/slab", peers=20, sites=0, seed=4), PeerRules()
    site, first = "s.example", (10.0, 10.0, 10.0)
    network.submit(site, first, next(iter(network.peers.values())))
    network.run(2 * rules.gossip_every_s)
    registrar = next(p for p in network.peers.values() if p.owns(name_key(SPACE, site)))
    assert site not in registrar.site_table.home_records, "the home must outlive the registrar"
    network.crash(registrar.id)
    network.run(rules.dead_after_s + 5 * rules.claim_step_s)
    for peer in list(network.peers.values()):
        network.submit(site, (-80.0, -80.0, 80.0), peer)
    homes = [p.site_table.home_records.get(site) for p in network.peers.values()]
    assert [record.point for record in homes if record is not None] == [first]

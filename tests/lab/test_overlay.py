"""The lab's overlay without messages: zones, homes and ways as of peers that speak; what ours gains."""

from __future__ import annotations

import numpy as np
import pytest

from ipmicra.lab.generated import generate
from ipmicra.lab.overlay.handover_simulation import HandoverSimulation
from ipmicra.lab.overlay.metrics import distances_ms, load_variation, loads, nearest_peers, true_ms
from ipmicra.lab.overlay.routes import Routes
from ipmicra.lab.overlay.setup import OverlaySetup, setup_of
from ipmicra.lab.overlay.zone_inheritance import inherited
from ipmicra.lab.overlay.zone_simulation import grown
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.nearness import HandOverRule
from ipmicra.protocol.overlay_messages import PeerId
from tests.overlay.network import Network

PEERS = 40


@pytest.fixture(scope="module")
def scene() -> OverlaySetup:
    return setup_of(generate(seed=2, host_count=240).world, seed=1, number=0, peers=PEERS)


def spoken(scene: OverlaySetup, scheme: str) -> Network:
    """The same peers and sites, by messages: all enter through the first, the unified bootstrap peer."""
    network = Network(scene.space, PeerRules(switch=scheme, peers_expected=scene.peers))
    inserted = 0
    for number in range(scene.peers):
        first = network.peers.get(PeerId("p000"))
        network.add(f"p{number:03}", tuple(map(float, scene.peer_points[number])), first)
        for site in range(inserted, scene.inserted_by(number + 1)):
            point = tuple(map(float, scene.site_points[site]))
            network.submit(f"s{site}", point, network.peers[PeerId("p000")])
        inserted = scene.inserted_by(number + 1)
    return network


@pytest.mark.parametrize("scheme", ["DL/blind", "MP", "MP/slab", "MPP/newcomer"])
def test_zones_and_homes_are_those_of_peers_that_speak(scene: OverlaySetup, scheme: str) -> None:
    network, tiling = spoken(scene, scheme), grown(scene, scheme)
    for number in range(scene.peers):
        peer = network.peers[PeerId(f"p{number:03}")]
        assert peer.zones == (tiling.zone(number),)
        home_records = {f"s{site}" for site in np.flatnonzero(tiling.home == number)}
        assert set(peer.site_table.home_records) == home_records


def test_letters_take_the_ways_of_peers_that_speak(scene: OverlaySetup) -> None:
    network, routes = spoken(scene, "MP/slab"), Routes(grown(scene, "MP/slab"))
    network.run(6)
    for site in range(40):
        asker = network.peers[PeerId(f"p{site % scene.peers:03}")]
        answer = network.locate(scene.site_keys[site], asker)
        assert answer is not None
        assert answer.hops == routes.hops(site % scene.peers, scene.site_keys[site])


def test_all_sites_are_inserted_in_the_end_and_never_fewer_than_before(scene: OverlaySetup) -> None:
    inserted = [scene.inserted_by(joined) for joined in range(1, scene.peers + 1)]
    assert inserted == sorted(inserted)
    assert inserted[-1] == scene.sites


@pytest.mark.slow
def test_handing_over_comes_close_to_the_nearest_peer_with_less_load_variation() -> None:
    """Over many draws: in one small world chance decides whether a price on load costs distance."""
    world = generate(seed=2, host_count=240).world
    homed_ms, priced_ms = [], []
    for number in range(24):
        scene = setup_of(world, seed=1, number=number, peers=PEERS)
        tiling = grown(scene, "MP/slab")
        free = HandoverSimulation(tiling, HandOverRule(price_ms=0.0)).done()
        priced = HandoverSimulation(tiling, HandOverRule(price_ms=20.0)).done()
        bound_ms = distances_ms(scene, nearest_peers(scene)).mean()
        assert distances_ms(scene, free.delegate).mean() <= 1.05 * bound_ms
        variation = load_variation(loads(scene, priced.delegate))
        assert variation < 0.8 * load_variation(tiling.loads())
        assert variation < load_variation(loads(scene, free.delegate))
        homed_ms.append(distances_ms(scene, tiling.home).mean())
        priced_ms.append(distances_ms(scene, priced.delegate).mean())
    assert np.mean(homed_ms) > np.mean(priced_ms)


def test_probes_are_bounded_and_find_truly_near_peers(scene: OverlaySetup) -> None:
    few = scene.placed_by(scene.landmarks_spread(6))
    outcome = HandoverSimulation(grown(few, "MP/slab"), HandOverRule(measured_max=22)).done()
    assert outcome.probes.max() <= 22
    assert np.isfinite(outcome.measured_ms).sum(axis=1).max() <= 22
    nearest_ms = scene.round_trips_ms.min(axis=0).mean()
    assert true_ms(scene, outcome.delegate).mean() <= 1.4 * nearest_ms


def test_after_a_crash_no_site_is_with_a_dead_peer_and_no_probe_is_spent(scene: OverlaySetup) -> None:
    homes = HandoverSimulation(
        grown(scene.placed_by(scene.landmarks_spread(6)), "MP/slab"), HandOverRule(measured_max=22)
    )
    homes.done()
    spent, dead = homes.probes.sum(), np.arange(0, PEERS, 3)
    homes.crash(dead)
    homes.settle()
    assert not np.isin(homes.delegate, dead).any()
    assert homes.probes.sum() == spent
    tiling = grown(scene, "MP")
    assert not np.isin(inherited(tiling, dead, by_nearness=True), dead).any()

"""Peers join, leave and crash in any order: the network heals, and loses no site that a live peer knows."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.nearness import HandOverRule
from tests.overlay.network import Network, random_point, site_faults, tiling_faults

SPACE = ZoneBox((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
PEERS, SITES, PEERS_LEAST = 12, 20, 3
SECONDS_APART = 6.0  # shorter than the detection of a crash: failures overlap
SECONDS_TO_HEAL = 90.0


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    events=st.text("jjlc", min_size=1, max_size=10),
    rule=st.sampled_from([None, HandOverRule()]),
)
def test_any_churn_heals(seed: int, events: str, rule: HandOverRule | None) -> None:
    network, dice = started(seed, rule), Random(seed)
    known = len(known_sites(network))
    for number, event in enumerate(events):
        play(network, dice, event, number)
        known = min(known, len(known_sites(network)))
        network.run(SECONDS_APART)
    network.run(SECONDS_TO_HEAL)
    assert tiling_faults(network) == []
    assert site_faults(network, known) == []


def test_a_record_outlives_its_home_and_the_first_successor() -> None:
    network = started(seed=3, rule=None)
    home = max(network.peers.values(), key=lambda peer: (len(peer.site_table.home_records), peer.id))
    sites = set(home.site_table.home_records)
    network.crash(home.id)
    network.run(17)
    successors = [peer for peer in network.peers.values() if sites & set(peer.site_table.home_records)]
    assert successors, "a peer has taken over"
    network.crash(successors[0].id)
    network.run(60)
    assert tiling_faults(network) == []
    assert site_faults(network, SITES) == []


def test_a_dead_delegate_loses_its_sites() -> None:
    network = started(seed=5, rule=HandOverRule(price_ms=1.0))
    network.run(30)
    away = [
        (site, peer.id)
        for peer in network.peers.values()
        for site in peer.site_table.crawled
        if site not in peer.site_table.home_records
    ]
    assert away, "some sites are crawled away from home"
    network.crash(away[0][1])
    network.run(60)
    assert site_faults(network, SITES) == []


def test_a_routed_message_avoids_an_unreachable_peer() -> None:
    network, dice = started(seed=7, rule=None), Random(7)
    network.reports_unreachable = True
    victim = dice.choice(sorted(network.peers))
    network.crash(victim)
    found = []
    for _ in range(40):
        key = random_point(dice, SPACE)
        answer = network.locate(key, network.peers[dice.choice(sorted(network.peers))])
        owners = [peer.id for peer in network.peers.values() if peer.owns(key)]
        found += [answer is not None and answer.owner.peer == owner for owner in owners]
    assert len(found) > 30, "most points have an owner that lives"
    assert all(found)


def started(seed: int, rule: HandOverRule | None) -> Network:
    dice = Random(seed)
    network = Network(SPACE, PeerRules(hand_over=rule))
    first = network.add("p00", random_point(dice, SPACE))
    for number in range(SITES):
        network.submit(f"s{number}.example", random_point(dice, SPACE), first)
    for number in range(1, PEERS):
        via = network.peers[dice.choice(sorted(network.peers))]
        network.add(f"p{number:02}", random_point(dice, SPACE), via)
    network.run(SECONDS_APART)
    return network


def play(network: Network, dice: Random, event: str, number: int) -> None:
    chosen = dice.choice(sorted(network.peers))
    if event == "j":
        network.add(f"q{number:02}", random_point(dice, SPACE), network.peers[chosen])
    elif len(network.peers) > PEERS_LEAST:
        network.leave(chosen) if event == "l" else network.crash(chosen)


def known_sites(network: Network) -> set[str]:
    """The sites that a live peer is home to, crawls, or stores a replica of."""
    return {site for peer in network.peers.values() for site in peer.sites_known()}

"""Many peers die at the same moment, neighbours among them: every zone and site soon has an owner again."""

from __future__ import annotations

from math import dist
from random import Random

import msgspec
import pytest

from ipmicra.model.ids import DelegateEpoch
from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.nearness import HandOverRule
from ipmicra.overlay.can.sites.site_table import SiteTable, delegate_descriptor, with_delegate
from ipmicra.protocol.overlay_messages import (
    Announce,
    CrawlSite,
    PeerDescriptor,
    PeerId,
    ReleaseSite,
    Routed,
    SiteRecord,
    StoreRecords,
)
from tests.overlay.network import random_point, site_faults, tiling_faults
from tests.overlay.timed_network import TimedNetwork

SPACE = ZoneBox((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
PEERS, SITES_EACH = 40, 2
RULES = PeerRules(hand_over=HandOverRule(gain_share=0.3))


@pytest.mark.parametrize("seed", range(3))
def test_a_fifth_anywhere_is_healed_in_30_seconds(seed: int) -> None:
    network = started(seed)
    network.crash(Random(seed).sample(sorted(network.peers), PEERS // 5))
    assert healed(network, 30) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_third_side_by_side_is_healed_with_all_sites_that_a_peer_knew(seed: int) -> None:
    network = started(seed)
    network.crash(nearest_to_a_point(network, seed, PEERS * 3 // 10))
    known = {site for peer in network.peers.values() for site in peer.sites_known()}
    assert healed(network, 40, len(known)) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_site_outlives_its_home_with_all_neighbours_and_its_crawler(seed: int) -> None:
    """The remote replica at the far end of the space restores the site."""
    network = started(seed)
    site, home = next(
        (site, peer)
        for peer in network.peers.values()
        for site in peer.site_table.home_records
        if len(peer.table) < PEERS // 2
    )
    knew = {
        home.id,
        home.site_table.home_records[site].delegate,
        *(descriptor.peer for descriptor in home.table.descriptors()),
    }
    network.crash(sorted(knew))
    network.run(40)
    assert [peer.id for peer in network.peers.values() if site in peer.site_table.home_records] != []


def test_peers_that_all_join_at_once_come_to_tile_the_space() -> None:
    network = started(5, seconds=20)
    assert tiling_faults(network) == []
    assert site_faults(network, PEERS * SITES_EACH) == []


def test_a_delegate_stops_when_the_home_does_not_confirm_the_lease() -> None:
    site_table, key = SiteTable(), (0.0, 0.0, 0.0)
    site_table.start_crawling(
        SiteRecord("s.example", key, key, delegate=PeerId("me"), epoch=DelegateEpoch(3)), now_s=10.0
    )
    assert "s.example" in site_table.leased_records(since_s=9.0)
    assert "s.example" not in site_table.leased_records(since_s=11.0)
    site_table.on_confirmed("s.example", DelegateEpoch(2), now_s=12.0)
    assert "s.example" not in site_table.leased_records(since_s=11.0), "that was an older epoch's lease"
    site_table.on_confirmed("s.example", DelegateEpoch(3), now_s=12.0)
    assert "s.example" in site_table.leased_records(since_s=11.0)


def test_an_old_message_does_not_restart_a_released_site() -> None:
    site_table, key = SiteTable(), (0.0, 0.0, 0.0)
    record = SiteRecord("s.example", key, key, delegate=PeerId("me"), epoch=DelegateEpoch(3))
    assert site_table.start_crawling(record, now_s=10.0)
    assert site_table.stop_crawling("s.example", DelegateEpoch(4))
    assert not site_table.start_crawling(record, now_s=11.0)


def test_a_home_crawls_a_site_whose_old_record_names_it_although_it_was_released() -> None:
    """The former home died before it listed its last change: the replica is older than the release."""
    me = PeerDescriptor(PeerId("me"), (0.0, 0.0, 0.0), ())
    peer, other = Peer(me, SPACE, RULES), msgspec.structs.replace(me, peer=PeerId("other"))
    record = SiteRecord("s.example", me.point, me.point, delegate=me.peer, epoch=DelegateEpoch(3))
    peer.handle(CrawlSite(record, other), now_s=1.0)
    peer.handle(ReleaseSite(record.site, DelegateEpoch(4), other), now_s=2.0)
    assert peer.site_table.crawled == {}
    peer.create_network()
    peer.handle(StoreRecords((record,)), now_s=3.0)
    assert peer.leased_sites(3.0)["s.example"].epoch == 4
    announced = with_delegate(record, other)
    (release,) = peer.handle(Routed(record.key, Announce(announced, other)), now_s=4.0)
    assert release.message == ReleaseSite(record.site, DelegateEpoch(5), delegate_descriptor(record))
    assert set(peer.site_table.crawled) == {"s.example"}


def test_a_home_that_another_home_released_crawls_its_site_again_after_the_next_review() -> None:
    me = PeerDescriptor(PeerId("me"), (0.0, 0.0, 0.0), ())
    peer, other = Peer(me, SPACE, RULES), msgspec.structs.replace(me, peer=PeerId("other"))
    record = SiteRecord("s.example", me.point, me.point, delegate=me.peer, epoch=DelegateEpoch(3))
    peer.create_network()
    peer.handle(StoreRecords((record,)), now_s=1.0)
    peer.handle(Routed(record.key, Announce(record, other)), now_s=2.0)
    peer.handle(ReleaseSite(record.site, DelegateEpoch(4), other), now_s=3.0)
    assert peer.site_table.crawled == {}, "the home's record is of epoch 4, its crawler was told 3"
    peer.tick(now_s=10.0)
    assert set(peer.leased_sites(10.0)) == {"s.example"}


def healed(network: TimedNetwork, seconds: float, sites: int = PEERS * SITES_EACH) -> list[str]:
    """Faults in the last three seconds; checked every second, since one moment may look right by chance."""
    network.run(seconds - 3)
    faults: list[str] = []
    for _ in range(3):
        network.run(1)
        faults += site_faults(network, sites) + tiling_faults(network)
    return faults


def started(seed: int, seconds: float = 25) -> TimedNetwork:
    """Many peers join at once and sites are submitted; correct after `seconds`."""
    network = TimedNetwork(SPACE, RULES, seed)
    first, dice = network.add("p00"), Random(seed)
    for number in range(1, PEERS):
        network.add(f"p{number:02}", first)
        network.run(0.02)
    network.run(5)
    for number in range(PEERS * SITES_EACH):
        network.submit(f"s{number}.example", random_point(dice, SPACE))
    network.run(seconds)
    assert site_faults(network, PEERS * SITES_EACH) == []
    return network


def nearest_to_a_point(network: TimedNetwork, seed: int, count: int) -> list[PeerId]:
    middle = random_point(Random(seed + 100), SPACE)
    return sorted(network.peers, key=lambda name: dist(network.peers[name].descriptor.point, middle))[
        :count
    ]

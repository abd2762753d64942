"""What was learnt survives a restart, a change of crawlers, and a round through bytes."""

from __future__ import annotations

import msgspec
import numpy as np

from ipmicra.delegation.strategies.adaptive.state import AdaptiveState
from tests.delegation.strategies.adaptive.made_worlds import MadeWorld, accuracy_and_probes, name_of


def learnt_state(world: MadeWorld, sites: int, sites_max: int = 4096) -> AdaptiveState:
    strategy = world.strategy(sites_max=sites_max)
    accuracy_and_probes(world, strategy, sites)
    packed = msgspec.msgpack.encode(strategy.to_state())
    return msgspec.msgpack.decode(packed, type=AdaptiveState)


def test_a_restored_strategy_decides_as_the_old_one_would() -> None:
    world = MadeWorld(1)
    old = world.strategy(explore=0.0)
    accuracy_and_probes(world, old, 60)
    new = world.strategy(explore=0.0)
    new.from_state(old.to_state())
    for number in range(60, 80):
        target = world.target(number)
        assert world.delegate(old, target).explanation() == world.delegate(new, target).explanation()


def test_the_ring_comes_back_oldest_first() -> None:
    world = MadeWorld(2)
    state = learnt_state(world, 30, sites_max=16)
    assert [site.address for site in state.sites] == [
        str(world.target(number).address) for number in range(14, 30)
    ]


def test_gone_crawlers_are_dropped_and_new_ones_believed_near_their_neighbours() -> None:
    world = MadeWorld(3)
    state = learnt_state(world, 40)
    new = world.strategy()
    new.on_crawler_left(name_of(1))
    new.on_crawler_left(name_of(5))
    world.introduce(new, 5)
    new.from_state(state)
    assert new.experience.examples.sites == 40
    assert new.experience.examples.crawlers == 7
    assert np.isfinite(new.experience.examples.values_ms).all()
    assert all(name_of(1) not in counts for counts in new.agreement.counts.values())

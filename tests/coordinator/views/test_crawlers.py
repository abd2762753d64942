"""The life of a crawler: states and transitions as a table, what an operator may want when, and moves."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ipmicra.coordinator.admin import commands
from ipmicra.coordinator.admin.crawler_states import (
    ENDED,
    MEANINGS,
    TRANSITIONS,
    Actor,
    CrawlerState,
    CrawlerStateInputs,
    OperatorCommand,
    allowed_commands,
    is_allowed,
    is_noop,
    next_states,
    state_of,
)
from ipmicra.coordinator.store import events, orders
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.views.crawlers import CrawlerStatus, crawler_named, crawlers
from ipmicra.errors import OperatorFault
from ipmicra.protocol.host_messages import Upgrade
from tests.coordinator.harness import CoordinatorHarness

S = CrawlerState
HERE = CrawlerStateInputs(HostState.ENROLLED, present=True, has_reported=True, awake=True)


@pytest.fixture
def stage(database: Database, tmp_path: Path) -> CoordinatorHarness:
    return CoordinatorHarness(database, tmp_path)


def standing(stage: CoordinatorHarness, name: str) -> CrawlerStatus:
    with stage.database.read() as connection:
        return crawler_named(connection, name, stage.now_s)


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (CrawlerStateInputs(HostState.REGISTERED), S.EXPECTED),
        (CrawlerStateInputs(HostState.ENROLLED), S.STARTING),
        (HERE, S.WORKING),
        (HERE._replace(awake=False), S.RESTING),
        (HERE._replace(awake=False, paused=True), S.PAUSED),
        (HERE._replace(changes_code=True), S.UPGRADING),
        (HERE._replace(moves=True, paused=True), S.MOVING),
        (HERE._replace(has_moved=True), S.MOVED),
        (HERE._replace(is_retiring=True, moves=True), S.RETIRING),
        (HERE._replace(present=False), S.LOST),
        (HERE._replace(host=HostState.RETIRED), S.RETIRED),
        (HERE._replace(host=HostState.LEFT), S.LEFT),
        (HERE._replace(host=HostState.REVOKED), S.KILLED),
    ],
)
def test_the_state_is_read_from_facts(facts: CrawlerStateInputs, state: CrawlerState) -> None:
    assert state_of(facts) is state


def test_every_state_has_a_meaning_and_can_be_reached_from_the_first() -> None:
    assert set(MEANINGS) == set(S)
    reached, waiting = {S.EXPECTED}, [S.EXPECTED]
    while waiting:
        new = next_states(waiting.pop()) - reached
        reached |= new
        waiting += new
    assert reached == set(S)


def test_an_end_is_an_end_and_everything_else_can_be_killed() -> None:
    for state in S:
        assert (state in ENDED) == (not next_states(state)) == (not allowed_commands(state))
        assert (state in ENDED) != is_allowed(state, OperatorCommand.REVOKE)


def test_commands_are_given_by_the_operator_only() -> None:
    assert {one.by for one in TRANSITIONS if one.command is not None} == {Actor.OPERATOR}
    assert {one.command for one in TRANSITIONS if one.by is Actor.OPERATOR} == set(OperatorCommand)


def test_what_it_is_already_may_be_wished_again() -> None:
    assert is_noop(S.PAUSED, OperatorCommand.PAUSE)
    assert not is_noop(S.WORKING, OperatorCommand.PAUSE)


# --- rows -----------------------------------------------------------------------------------------


def test_a_crawlers_life_follows_the_table(stage: CoordinatorHarness) -> None:
    """Looked at after every round, each change is one that the table has."""
    seen = [S.EXPECTED]

    def play(rounds: int = 3) -> None:
        for _ in range(rounds):
            stage.play(rounds=1)
            if (state := standing(stage, "lima").state) != seen[-1]:
                seen.append(state)

    stage.join("lima")
    play()
    for wish in (commands.pause, commands.retire):
        with stage.database.begin() as connection:
            if wish is commands.retire:
                commands.resume(connection, "lima", stage.now_s)
            wish(connection, "lima", "", stage.now_s)
        play()
    assert seen[1:] == [S.WORKING, S.PAUSED, S.RETIRED]
    by_steps = {
        state: next_states(state) | {s for n in next_states(state) for s in next_states(n)}
        for state in S
    }
    assert all(later in by_steps[earlier] for earlier, later in pairwise(seen))


def test_since_when_a_state_lasts_is_noted_by_the_leader(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    stage.play(rounds=5)
    first = standing(stage, "lima")
    stage.play(rounds=5)
    assert standing(stage, "lima").since_s == first.since_s
    with stage.database.begin() as connection:
        commands.pause(connection, "lima", "", stage.now_s)
    assert standing(stage, "lima").since_s is None, "nobody has looked since"
    stage.play(rounds=3)
    paused_s = standing(stage, "lima").since_s
    assert paused_s is not None
    assert first.since_s is not None
    assert paused_s > first.since_s


def test_a_silent_host_is_lost_and_works_again_when_it_is_back(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    stage.play(rounds=2)
    said = stage.said["lima"]
    stage.dies("lima")
    stage.play(rounds=2, step_s=60)
    assert standing(stage, "lima").state is S.LOST
    stage.said["lima"] = said
    stage.play(rounds=2)
    assert standing(stage, "lima").state is S.WORKING


# --- upgrades -------------------------------------------------------------------------------------


def test_one_crawler_is_upgraded_to_a_published_version(stage: CoordinatorHarness) -> None:
    stage.join("lima", code={"takes_bundles": True})
    stage.join("oslo")
    with stage.database.begin() as connection:
        commands.upgrade(connection, "lima", "1.1", ["1.0", "1.1"], stage.now_s)
        (order,) = orders.open_orders(connection, "lima", stage.now_s)
        with pytest.raises(OperatorFault, match=r"not published; published are: 1\.0"):
            commands.upgrade(connection, "lima", "2.0", ["1.0"], stage.now_s)
        with pytest.raises(OperatorFault, match="does not accept dispatched code"):
            commands.upgrade(connection, "oslo", "1.1", ["1.1"], stage.now_s)
    assert order.body == Upgrade(version="1.1")
    assert standing(stage, "lima").state is S.UPGRADING


# --- moves ----------------------------------------------------------------------------------------


def moved_scene(stage: CoordinatorHarness) -> tuple[str, str, str]:
    """Lima has two sites, oslo is far from them and has one of its own."""
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=90)
    cake = stage.site("https://cake.example", "198.51.101.7", lima=20, oslo=90)
    stage.submit(f"{bread}/", f"{cake}/")
    stage.play()
    stage.join("oslo", "198.18.0.2")
    fish = stage.site("https://fish.example", "203.0.113.7", lima=90, oslo=20)
    stage.submit(f"{fish}/")
    stage.play()
    assert [stage.owner(site) for site in (bread, cake, fish)] == ["lima", "lima", "oslo"]
    return bread, cake, fish


def move(stage: CoordinatorHarness, crawler: str, target: str) -> None:
    with stage.database.begin() as connection:
        commands.move(connection, crawler, target, stage.now_s)


def test_a_crawler_moves_with_all_it_knows_and_its_host_is_left_empty(stage: CoordinatorHarness) -> None:
    bread, cake, fish = moved_scene(stage)
    move(stage, "lima", "oslo")
    assert standing(stage, "lima").state is S.MOVING
    stage.play()
    assert {stage.owner(site) for site in (bread, cake, fish)} == {"oslo"}
    states = [("oslo", site, f"lima's state of {site}".encode()) for site in (bread, cake)]
    assert sorted(stage.warm) == states
    assert (standing(stage, "lima").state, standing(stage, "lima").moves_to) == (S.MOVED, "oslo")
    near = stage.site("https://near.example", "198.51.102.7", lima=1, oslo=49)
    stage.submit(f"{near}/")
    stage.play()
    assert stage.owner(near) == "oslo", "an empty host gets nothing new"
    with stage.database.begin() as connection:
        commands.resume(connection, "lima", stage.now_s)
        assert "crawler-moved" in [event.kind for event in events.latest(connection, 20)]
    later = stage.site("https://later.example", "198.51.103.7", lima=1, oslo=90)
    stage.submit(f"{later}/")
    stage.play()
    assert stage.owner(later) == "lima"
    assert stage.owner(bread) == "oslo", "what has moved stays"


def test_another_leader_carries_a_move_on(stage: CoordinatorHarness) -> None:
    bread, cake, _ = moved_scene(stage)
    stage.deaf.add("lima")
    move(stage, "lima", "oslo")
    stage.play(rounds=2)
    assert stage.owner(bread) == "lima", "it has not let go yet"
    stage.now_s += 30  # the leader has died; leases run on
    stage.delegator = stage.replica("second")
    for name in ("lima", "oslo"):
        stage.report(name)
    stage.deaf.clear()
    stage.play()
    assert {stage.owner(bread), stage.owner(cake)} == {"oslo"}
    assert len(stage.warm) == 2


def test_who_dies_while_it_moves_leaves_its_sites_to_the_target(stage: CoordinatorHarness) -> None:
    bread, cake, _ = moved_scene(stage)
    move(stage, "lima", "oslo")
    stage.deaf.add("lima")
    stage.play(rounds=2)
    stage.dies("lima")
    for _ in range(12):
        stage.play(rounds=1, step_s=10)
    assert {stage.owner(bread), stage.owner(cake)} == {"oslo"}


def test_a_move_to_a_host_that_is_gone_ends_and_the_rest_stays(stage: CoordinatorHarness) -> None:
    bread, cake, _ = moved_scene(stage)
    stage.deaf.add("lima")
    move(stage, "lima", "oslo")
    stage.ends("oslo", HostState.LEFT)
    stage.play(rounds=2)
    stage.deaf.clear()
    stage.play()
    assert {stage.owner(bread), stage.owner(cake)} == {"lima"}
    assert standing(stage, "lima").state is S.WORKING


def test_the_owners_own_sites_stay_on_his_machine(stage: CoordinatorHarness) -> None:
    stage.join("lima", own_sites=("https://own.example/",))
    stage.join("oslo", "198.18.0.2")
    stage.play()
    move(stage, "lima", "oslo")
    stage.play()
    assert stage.owner("https://own.example") == "lima"
    assert standing(stage, "lima").state is S.MOVED


@pytest.mark.parametrize("target", ["lima", "nobody", "rome"])
def test_there_must_be_somewhere_to_move_to(stage: CoordinatorHarness, target: str) -> None:
    stage.join("lima")
    with stage.database.begin() as connection:
        commands.register(connection, "rome", stage.now_s, 60)
        with pytest.raises(OperatorFault, match=r"itself|no host 'nobody'|which is expected"):
            commands.move(connection, "lima", target, stage.now_s)
        assert [crawler.moves_to for crawler in crawlers(connection, stage.now_s)] == ["", ""]

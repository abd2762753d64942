"""Rows that nobody needs are deleted after their time, and what is still needed stays."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select, text

from ipmicra.coordinator.leader.retention import CHECK_SECONDS, DAY_S, ROWS_AT_ONCE, Retention
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import hosts, orders, sites
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import link_table, order_table
from ipmicra.model.urls import Url
from ipmicra.protocol.host_messages import OrderDone, Pause
from tests.coordinator.harness import CoordinatorHarness

NOW = 1_800_000_000.0


def numbers(connection: Connection) -> list[int]:
    return list(
        connection.execute(select(order_table.c.number).order_by(order_table.c.number)).scalars()
    )


def test_done_orders_are_deleted_after_their_time_and_numbers_go_on_rising(database: Database) -> None:
    retention = Retention(CoordinatorSettings(orders_kept_days=2))
    with database.begin() as connection:
        hosts.register(connection, "lima", "token", NOW, 60)
        given = [orders.give(connection, "lima", Pause(), f"{n}", NOW) for n in range(3)]
        for number in given[:2]:
            orders.close(connection, "lima", OrderDone(number=number), NOW)
        retention.delete_old_rows(connection, NOW + 1 * DAY_S)
        assert numbers(connection) == given
        retention.delete_old_rows(connection, NOW + 3 * DAY_S)
        assert numbers(connection) == given[2:], "an open order stays"
        orders.close(connection, "lima", OrderDone(number=given[2]), NOW)
        retention.delete_old_rows(connection, NOW + 9 * DAY_S)
        assert orders.give(connection, "lima", Pause(), "new", NOW) > given[2]


def test_sent_links_are_deleted_after_their_time_but_one_of_each_site(stage: CoordinatorHarness) -> None:
    stage.settings = msgspec.structs.replace(stage.settings, links_kept_days=1)
    stage.delegator = stage.replica("first")
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/", f"{bread}/rye", f"{bread}/wheat")
    stage.submit("https://nowhere.example/a", "https://nowhere.example/b")
    stage.play()
    stage.now_s += 2 * DAY_S
    stage.report("lima")
    stage.play(rounds=3, step_s=CHECK_SECONDS)
    with stage.database.read() as connection:
        kept = set(connection.execute(select(link_table.c.url)).scalars())
    assert kept == {f"{bread}/", "https://nowhere.example/a", "https://nowhere.example/b"}


def test_little_is_deleted_at_once(database: Database) -> None:
    urls = [Url(f"https://a.example/{number:05}") for number in range(ROWS_AT_ONCE + 100)]
    with database.begin() as connection:
        sites.add_links(connection, urls, NOW)
        connection.execute(link_table.update().values(given_s=NOW))
        Retention(CoordinatorSettings()).delete_old_rows(connection, NOW + 99 * DAY_S)
        left = connection.execute(select(func.count()).select_from(link_table)).scalar_one()
    assert left == 100


def test_a_round_searches_no_whole_table(database: Database) -> None:
    """SQLite says how it would look for what the leader asks in each round."""
    if database.is_postgresql:
        return
    asked: list[str] = []
    with database.begin() as connection:
        for statement in ROUND_STATEMENTS:
            plan = connection.execute(text(f"EXPLAIN QUERY PLAN {statement}")).all()
            asked += [str(step[3]) for step in plan]
    assert not [step for step in asked if step.startswith("SCAN")], asked


ROUND_STATEMENTS = (
    "SELECT name FROM site WHERE state = 'waiting' ORDER BY queued_s LIMIT 10",
    "SELECT name FROM site WHERE state = 'unreachable' AND delegated_s <= 5 ORDER BY delegated_s LIMIT 10",
    "SELECT name FROM site WHERE state = 'delegated' AND unsent_s IS NOT NULL ORDER BY unsent_s LIMIT 10",
    "SELECT url FROM link WHERE site = 'a' AND given_s IS NULL LIMIT 10",
    "SELECT number FROM host_order WHERE done_s < 5 LIMIT 10",
    "SELECT url FROM link WHERE given_s < 5 LIMIT 10",
)

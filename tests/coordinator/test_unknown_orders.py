"""Orders of a kind that a host does not know, as the coordinator sees them: not sent, closed, shown."""

from __future__ import annotations

import msgspec
import pytest

from ipmicra.coordinator.store import events, orders
from ipmicra.coordinator.store.sql.schema import order_table
from ipmicra.coordinator.views.alerts import alerts
from ipmicra.protocol.host_messages import ORDER_KINDS, ObservePages, OrderDone, Pause, ReleaseSites
from tests.coordinator.harness import CoordinatorHarness

LOOK = ObservePages(urls=("http://a.example/",))


@pytest.mark.parametrize(("stated", "is_sent"), [((), True), (ORDER_KINDS, True), (("pause",), False)])
def test_a_host_is_sent_only_what_it_says_that_it_understands(
    stage: CoordinatorHarness, stated: tuple[str, ...], is_sent: bool
) -> None:
    stage.join("lima", order_kinds=stated)
    with stage.database.begin() as connection:
        number = orders.give(connection, "lima", LOOK, "a", stage.now_s)
        orders.give(connection, "lima", Pause(), "b", stage.now_s)
        sent = [order.body for order in orders.open_orders(connection, "lima", stage.now_s)]
        query = order_table.select().where(order_table.c.number == number)
        outcome = connection.execute(query).one().outcome
    assert sent == [*([LOOK] if is_sent else []), Pause()]
    if not is_sent:
        assert msgspec.msgpack.decode(outcome, type=OrderDone).unknown_kind == "look"


def test_a_refusal_closes_the_order_and_is_shown(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    site = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{site}/")
    stage.play()
    epoch = stage.row(site).epoch
    with stage.database.begin() as connection:
        body = ReleaseSites(sites=((site, epoch),))
        number = orders.give(connection, "lima", body, "a", stage.now_s)
    refusal = OrderDone(number=number, done=False, detail="no", unknown_kind="release")
    stage.report("lima", refusal)
    stage.report("lima", refusal)
    with stage.database.read() as connection:
        assert not orders.open_orders(connection, "lima", stage.now_s)
        noted = [event for event in events.latest(connection, 100) if event.kind == "order-refused"]
        shown = {trouble.kind: trouble for trouble in alerts(connection, stage.now_s + 1)}
    assert [(event.subject, event.detail) for event in noted] == [("lima", "release: no")]
    assert shown["order-unknown"].examples == ["lima"]
    assert stage.owner(site) == "lima", "it was not let go"


def test_a_row_of_a_newer_coordinator_does_not_stop_the_others(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    body = msgspec.msgpack.encode({"type": "clear-cache"})
    row = {"host": "lima", "kind": "clear-cache", "key": "", "body": body, "given_s": stage.now_s}
    with stage.database.begin() as connection:
        connection.execute(order_table.insert().values(row))
        assert not orders.has_unfetched(connection, "lima")
        orders.give(connection, "lima", Pause(), "b", stage.now_s)
        offered = orders.open_orders(connection, "lima", stage.now_s)
    assert [order.body for order in offered] == [Pause()]

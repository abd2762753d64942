"""Roll-outs in rows, on both databases: orders given once, reports read, a halt written down."""

from __future__ import annotations

import msgspec
import pytest

from ipmicra.coordinator.bundles import rollout_orders
from ipmicra.coordinator.bundles.rollout import RolloutState
from ipmicra.coordinator.store import events, hosts, orders
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.errors import OperatorFault
from ipmicra.protocol.host_messages import CodeReport, Upgrade

NOW = 1_800_000_000.0


def enrolled(database: Database, name: str, code: CodeReport) -> None:
    with database.begin() as connection:
        hosts.register(connection, name, f"token-of-{name}", NOW, 3600)
        hosts.enrol(connection, f"token-of-{name}", name.encode().ljust(32), "192.0.2.1", NOW)
        hosts.renew_lease(connection, name, NOW, 900)
    report(database, name, code)


def report(database: Database, name: str, code: CodeReport) -> None:
    with database.begin() as connection:
        hosts.save_report(connection, name, {"code": msgspec.to_builtins(code)})


def upgrades(database: Database, name: str) -> list[str]:
    with database.begin() as connection:
        found = orders.open_orders(connection, name, NOW)
    return [order.body.version for order in found if isinstance(order.body, Upgrade)]


def test_a_roll_out_orders_upgrades_once_and_ends_when_all_have_it(database: Database) -> None:
    enrolled(database, "lima", CodeReport(version="1.0", takes_bundles=True))
    with database.begin() as connection:
        rollout_orders.begin(connection, "1.1", NOW)
        for moment in (1, 2):
            rollout_orders.advance(connection, NOW + moment, soak_s=10)
    assert upgrades(database, "lima") == ["1.1"]
    report(database, "lima", CodeReport(version="1.1", takes_bundles=True))
    with database.begin() as connection:
        for moment in (20, 40, 60):
            found = rollout_orders.advance(connection, NOW + moment, soak_s=10)
    assert found is not None
    assert found.state is RolloutState.DONE


def test_a_host_that_rolled_it_back_halts_it_and_the_reason_is_kept(database: Database) -> None:
    enrolled(database, "lima", CodeReport(version="1.0", takes_bundles=True))
    with database.begin() as connection:
        rollout_orders.begin(connection, "1.1", NOW)
        rollout_orders.advance(connection, NOW + 1, soak_s=10)
    report(
        database,
        "lima",
        CodeReport(version="1.0", refused=(("1.1", "it has not answered"),), takes_bundles=True),
    )
    with database.begin() as connection:
        rollout_orders.advance(connection, NOW + 2, soak_s=10)
        found = rollout_orders.latest(connection)
        kinds = [event.kind for event in events.latest(connection, 3)]
    assert found is not None
    assert found.state is RolloutState.HALTED
    assert "it has not answered" in found.reason
    assert kinds[0] == "rollout-halted"


def test_a_newer_roll_out_takes_the_place_of_the_older_and_none_is_repeated(database: Database) -> None:
    with database.begin() as connection:
        rollout_orders.begin(connection, "1.1", NOW)
        rollout_orders.begin(connection, "1.2", NOW + 1)
        found = rollout_orders.latest(connection)
        assert found is not None
        assert (found.version, found.state) == ("1.2", RolloutState.ROLLING)
        with pytest.raises(OperatorFault, match="rolled out before"):
            rollout_orders.begin(connection, "1.1", NOW + 2)


def test_the_operator_halts_what_is_rolling_and_nothing_else(database: Database) -> None:
    with database.begin() as connection:
        rollout_orders.begin(connection, "1.1", NOW)
        rollout_orders.halt(connection, "1.1", "a site complained", NOW + 1)
        with pytest.raises(OperatorFault, match="not being rolled out"):
            rollout_orders.halt(connection, "1.1", "again", NOW + 2)

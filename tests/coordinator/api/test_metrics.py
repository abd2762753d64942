"""A scrape of a running system is well formed, true and bounded, and has all that is asked of it."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ipmicra.carrier.package import pack
from ipmicra.coordinator.api.metrics import HOSTS_MAX, RowMetrics
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import host_table
from ipmicra.testing.page_records import seen
from tests.coordinator.coordinator_process import RunningCoordinator, running_coordinator

MONITORING = Path(__file__).parents[3] / "deploy" / "monitoring"
NAME = re.compile(r"\b(?:ipmicra|process)_[a-z0-9_]+")


def fetched(address: str, path: str) -> tuple[str, str]:
    with urllib.request.urlopen(address + path, timeout=10) as answer:
        return answer.headers["content-type"], answer.read().decode()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCoordinator]:
    """With a host that has sent a package of a site that is not its own, and a search."""
    folder = tmp_path_factory.mktemp("metrics")
    with running_coordinator(folder, f"sqlite:///{folder / 'coordinator.sqlite'}") as coordinator:
        lima = coordinator.registered("lima")
        data = pack([seen("https://bread.example/", "Bread", "<p>rye</p>")], "lima", 1)
        assert lima.send_package(1, data).status == 200
        fetched(coordinator.address, "/api/search?q=rye")
        fetched(coordinator.address, "/v1/explain?url=http://a.example/")
        coordinator.rows("submit", "http://no-such-name.invalid/")
        yield coordinator
        coordinator.stop()


def samples(coordinator: RunningCoordinator) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    media_type, text = fetched(coordinator.address, "/metrics")
    assert media_type.startswith("text/plain; version=0.0.4")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_happened_is_counted(running: RunningCoordinator) -> None:
    found = samples(running)
    assert found["ipmicra_packages_received_total", ()] == 1
    assert found["ipmicra_hosts_by_condition", (("condition", "working"),)] == 1
    assert ("ipmicra_host_last_contact_timestamp_seconds", (("host", "lima"),)) in found
    routes = {dict(labels)["route"] for name, labels in found if name == "ipmicra_http_requests_total"}
    assert {"/api/search", "/v1/explain"} <= routes
    assert found["ipmicra_search_duration_seconds_count", ()] >= 1
    assert found["ipmicra_leader_round_duration_seconds_count", ()] >= 1
    assert found["ipmicra_database_transaction_duration_seconds_count", (("kind", "write"),)] > 1
    assert found["ipmicra_index_condition", (("condition", "well"),)] == 1


def test_the_gauges_of_version_0_1_are_still_there(running: RunningCoordinator) -> None:
    names = {name for name, _ in samples(running)}
    old = ("hosts", "sites", "orders_open", "packages", "leader", "polls_waiting")
    assert {f"ipmicra_{name}" for name in old} - {"ipmicra_orders_open"} <= names


def test_names_follow_the_rules_of_the_ecosystem(running: RunningCoordinator) -> None:
    _, text = fetched(running.address, "/metrics")
    for family in text_string_to_metric_families(text):
        assert re.fullmatch(r"[a-z][a-z0-9_]*", family.name), family.name
        assert family.documentation, f"{family.name} has no help"
        if family.type == "counter":
            assert all(s.name.endswith(("_total", "_created")) for s in family.samples)


def expressions() -> Iterator[tuple[str, str]]:
    dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield f"panel {panel['title']}", target["expr"]
    for name, expression in re.findall(
        r"alert: (\w+)\n\s+expr: (.+)", (MONITORING / "alerts.yaml").read_text()
    ):
        yield f"alert {name}", expression


def test_every_panel_and_alert_asks_for_metrics_that_are_there(running: RunningCoordinator) -> None:
    _, text = fetched(running.address, "/metrics")
    declared = set(re.findall(r"(?m)^# TYPE (\S+) ", text))
    there = {name for name, _ in samples(running)} | declared
    asked = list(expressions())
    assert len(asked) >= 30
    for where, expression in asked:
        names = NAME.findall(expression)
        assert names, f"{where} asks for nothing of ours"
        assert set(names) <= there, f"{where}: {sorted(set(names) - there)} is not in a scrape"


def test_label_values_asked_for_exist(running: RunningCoordinator) -> None:
    found = samples(running)
    for where, expression in expressions():
        for name, label, value in re.findall(r'(ipmicra_\w+)\{(\w+)="([^"]+)"\}', expression):
            values = {dict(labels).get(label) for other, labels in found if other == name}
            assert value in values, f"{where}: {name} has no {label}={value}"


def test_series_by_host_are_bounded(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'rows.sqlite'}")
    with database.begin() as connection:
        rows = [
            {"name": f"h{number}", "state": "enrolled", "heard_s": 1.0}
            for number in range(HOSTS_MAX + 50)
        ]
        connection.execute(host_table.insert(), rows)
    for family in RowMetrics(database).families(2.0):
        assert len(family.samples) <= HOSTS_MAX, family.name
    database.close()

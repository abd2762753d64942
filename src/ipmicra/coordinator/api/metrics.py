"""How things stand -> Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ipmicra.coordinator.views.status import CoordinatorStatus

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_text(status: CoordinatorStatus, leads: bool, polls: int) -> str:
    hosts = {
        "present": sum(host.present for host in status.hosts),
        "awake": sum(host.awake for host in status.hosts),
        "registered": len(status.hosts),
    }
    families = [
        _family("ipmicra_hosts", "Hosts by how they are.", "are", hosts),
        _family("ipmicra_sites", "Sites by state.", "state", status.sites),
        _family("ipmicra_orders_open", "Orders not done yet, by kind.", "kind", status.open_orders),
        _family("ipmicra_packages", "Packages by state.", "state", status.packages),
        _family("ipmicra_leader", "1 where this replica delegates.", "", {"": int(leads)}),
        _family("ipmicra_polls_waiting", "Requests for orders held open here.", "", {"": polls}),
    ]
    return "".join(line + "\n" for family in families for line in family)


def _family(name: str, story: str, label: str, values: Mapping[str, int]) -> Iterable[str]:
    yield f"# HELP {name} {story}"
    yield f"# TYPE {name} gauge"
    for key, value in values.items():
        labels = f'{{{label}="{key}"}}' if label else ""
        yield f"{name}{labels} {value}"

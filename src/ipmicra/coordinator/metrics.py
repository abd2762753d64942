"""Events in a process of the coordinator -> counters and histograms for Prometheus.

Invariant: labels come from small, fixed sets (routes, kinds, outcomes), never from text that a client
chooses. Names follow Prometheus' rules: a unit at the end, counters end in `_total`.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram, Info
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from ipmicra import __version__
from ipmicra.carrier.package import Package
from ipmicra.model.records import PageChanged, PageGone, PageMoved, PageSeen, VisitFailed
from ipmicra.protocol.host_messages import ProbeResult

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

_MS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_MINUTES = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0)

BUILD = Info("ipmicra_build", "The version that runs.", registry=REGISTRY)
BUILD.info({"version": __version__, "python": platform.python_version()})

PAGES = Counter(
    "ipmicra_pages", "Visits in integrated packages, by their outcome.", ["outcome"], registry=REGISTRY
)
TEXT_BYTES = Counter(
    "ipmicra_fetched_bytes", "Bytes of bodies that crawlers report to have fetched.", registry=REGISTRY
)
FETCHES = Counter("ipmicra_fetches", "Fetches that crawlers report.", registry=REGISTRY)
PACKAGES_RECEIVED = Counter(
    "ipmicra_packages_received", "Packages acknowledged to hosts.", registry=REGISTRY
)
PACKAGE_BYTES = Counter(
    "ipmicra_package_received_bytes", "Bytes of packages acknowledged to hosts.", registry=REGISTRY
)
PACKAGES_ENDED = Counter(
    "ipmicra_packages_processed",
    "Packages that were integrated or refused.",
    ["outcome"],
    registry=REGISTRY,
)
LINKS_DROPPED = Counter(
    "ipmicra_links_dropped",
    "Links in packages that were left out because of a limit of new links or sites.",
    registry=REGISTRY,
)
INTEGRATION_LAG = Histogram(
    "ipmicra_package_integration_lag_seconds",
    "From the acknowledgement of a package until its pages can be found.",
    buckets=_MINUTES,
    registry=REGISTRY,
)
PROBES = Counter(
    "ipmicra_probes",
    "Answers of hosts to probes, by method and outcome.",
    ["method", "outcome"],
    registry=REGISTRY,
)
DECISIONS = Counter(
    "ipmicra_delegation_decisions", "Decisions by their reason.", ["reason"], registry=REGISTRY
)
DECISION_PROBES = Histogram(
    "ipmicra_delegation_decision_probes",
    "Probes that a decision took.",
    buckets=(0, 1, 2, 3, 5, 8, 13, 21),
    registry=REGISTRY,
)
LEADER_ROUND = Histogram(
    "ipmicra_leader_round_duration_seconds", "A round of the leader.", buckets=_MS, registry=REGISTRY
)
LEADER_FAILURES = Counter(
    "ipmicra_leader_round_failures", "Rounds that ended in an error.", registry=REGISTRY
)
ORDERS_DONE = Counter(
    "ipmicra_orders_done", "Orders that hosts reported, by kind.", ["kind", "outcome"], registry=REGISTRY
)
SEARCH = Histogram(
    "ipmicra_search_duration_seconds", "Answering a question.", buckets=_MS, registry=REGISTRY
)
REQUESTS = Counter(
    "ipmicra_http_requests", "Requests answered.", ["route", "method", "status"], registry=REGISTRY
)
REQUEST_TIME = Histogram(
    "ipmicra_http_request_duration_seconds",
    "Answering a request; long polls wait for orders.",
    ["route"],
    buckets=(*_MS, 30.0, 60.0),
    registry=REGISTRY,
)
DATABASE_TIME = Histogram(
    "ipmicra_database_transaction_duration_seconds",
    "From the beginning of a transaction to its end.",
    ["kind"],
    buckets=_MS,
    registry=REGISTRY,
)

_OUTCOMES = {
    PageSeen: "seen",
    PageChanged: "changed",
    PageGone: "gone",
    PageMoved: "moved",
    VisitFailed: "failed",
}
_METHODS = frozenset({"connect", "head", "icmp"})


def count_pages(package: Package) -> None:
    for record in package.records:
        outcome = _OUTCOMES.get(type(record))
        if outcome is not None:
            PAGES.labels(outcome).inc()


def count_probe(result: ProbeResult, method: str) -> None:
    """Hosts name the method: what is not one of ours is counted as another."""
    known = method if method in _METHODS else "other"
    PROBES.labels(known, "answered" if result.round_trip_ms is not None else "silent").inc()


@contextmanager
def timed(histogram: Histogram) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        histogram.observe(time.perf_counter() - start)


for _outcome in _OUTCOMES.values():  # a series that is not there cannot be alerted on
    PAGES.labels(_outcome)
for _outcome in ("integrated", "refused"):
    PACKAGES_ENDED.labels(_outcome)
for _method in sorted(_METHODS):
    for _outcome in ("answered", "silent"):
        PROBES.labels(_method, _outcome)

"""The API, asked everything that its own description allows, and more: it never fails, and says what it does.

A real server; requests of hosts are signed by an enrolled one, so that they get past the door.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.coordinator.coordinator_process import RunningCoordinator, running_coordinator
from tests.coordinator.played_host import PlayedHost

EXAMPLES = 10  # an operation
QUICK = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
OURS = ("/v1/", "/api/", "/metrics", "/health", "/ready")
CHANNELS = {"orders": "orders", "report": "reports", "leave": "reports"}


@pytest.fixture(scope="module")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCoordinator]:
    folder: Path = tmp_path_factory.mktemp("fuzzed")
    knobs = {"coordinator.poll_seconds_max": "0.05", "fetching.dns_servers": '["127.0.0.1:9"]'}
    with running_coordinator(folder, f"sqlite:///{folder}/rows.sqlite", knobs) as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_whatever_is_asked_is_answered_as_described(coordinator: RunningCoordinator) -> None:
    host = coordinator.registered("lima")
    schema = schemathesis.openapi.from_url(f"{coordinator.address}/schema/openapi.json")
    asked: dict[str, int] = {}
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        if not operation.path.startswith(OURS):
            continue

        @QUICK
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            answer = sent(coordinator, host, case)
            asked[case.operation.label] = asked.get(case.operation.label, 0) + 1
            checks: list[Any] = [not_a_server_error]
            if "/v1/host/" not in case.path:
                checks += [
                    status_code_conformance,
                    content_type_conformance,
                    response_schema_conformance,
                ]
            case.validate_response(answer, checks=checks)

        ask()
    assert len(asked) >= 12, asked
    with requests.get(f"{coordinator.address}/ready", timeout=30) as ready:
        assert ready.status_code == 200, "and it is as well as before"


def sent(coordinator: RunningCoordinator, host: PlayedHost, case: Any) -> requests.Response:
    """Over the wire as it was made up; a request of a host with a host's signature."""
    wait = case.query.get("wait") if isinstance(case.query, dict) else None
    if isinstance(wait, int | float):
        case.query["wait"] = min(wait, 0.05)
    request = requests.Request(**case.as_transport_kwargs(base_url=coordinator.address)).prepare()
    if "/v1/host/" in case.path and "enrol" not in case.path:
        body: Any = request.body or b""
        raw: bytes = body.encode() if isinstance(body, str) else body
        channel = CHANNELS.get(case.path.rpartition("/")[2], "packages")
        request.headers.update(host.signed(request.method or "", request.path_url, channel, raw))
    with requests.Session() as session:
        return session.send(request, timeout=30)

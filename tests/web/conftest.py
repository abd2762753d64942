"""Pages over real rows: a stage with hosts and sites, and a client that asks for pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.dashboard_harness import DashboardHarness


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[DashboardHarness]:
    with DashboardHarness(tmp_path) as opened:
        yield opened

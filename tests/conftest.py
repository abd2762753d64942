"""What all tests share: hypothesis asks whether, not how fast; with several workers slow tests come first."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.slow_first import slow_first

settings.register_profile("ipmicra", deadline=None)
settings.load_profile("ipmicra")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = slow_first(items, lambda item: item.get_closest_marker("slow") is not None, workers)

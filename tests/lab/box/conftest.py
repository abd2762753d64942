"""A box to test in, where this machine lets us make one."""

from __future__ import annotations

import os

import pytest

from ipmicra.lab.box.kernel.prerequisites import lacking


@pytest.fixture(scope="session")
def box_allowed() -> None:
    """Skips, loudly, where the box may not run; under CI root has no excuse."""
    missing = lacking()
    if not missing:
        return
    reason = f"the box needs {'; and '.join(missing)}"
    if os.environ.get("CI") == "true" and os.geteuid() == 0:
        pytest.fail(reason)
    pytest.skip(reason)

"""Every test here needs bubblewrap: where it is missing they are skipped and say so; in CI they fail."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        missing = (
            "bubblewrap is missing, so nothing of the sandbox is tested: run tools/install-system-parts"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)

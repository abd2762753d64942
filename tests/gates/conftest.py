"""What the gates' tests share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.gates.source_copy import REPOSITORY


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's source and check configuration, free to be spoiled."""
    target = tmp_path_factory.mktemp("repository")
    shutil.copytree(
        REPOSITORY / "src", target / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    for name in ("pyproject.toml", "ruff-pure.toml"):
        shutil.copy(REPOSITORY / name, target / name)
    return target

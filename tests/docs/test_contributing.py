"""The files that CONTRIBUTING.md names for each kind of change exist."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
TABLE = (
    (REPOSITORY / "CONTRIBUTING.md")
    .read_text(encoding="utf-8")
    .partition("The files that such a commit changes")[2]
    .partition("Of the first:")[0]
)


def test_the_files_of_each_kind_of_change_exist() -> None:
    named = re.findall(r"`([a-z_0-9/]+\.py)`", TABLE)
    assert len(named) >= 15
    assert [name for name in named if not (REPOSITORY / "src/ipmicra" / name).exists()] == []

"""Programs that some tests need from the system: found, or the test says loudly that they are missing.

Under CI=true a missing part is a failure, not a skip.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

PACKAGES = {
    "initdb": "postgresql",
    "nginx": "nginx-light",
    "bwrap": "bubblewrap",
    "chromium": "chromium",
    "faketime": "faketime",
    "strace": "strace",
    "moto_server": "moto[server] from PyPI (tools/install-system-parts does)",
}
OWN_PARTS = Path(__file__).parent.parent / ".parts" / "bin"  # made by tools/install-system-parts
FURTHER_FOLDERS = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), OWN_PARTS]


def needed(program: str) -> Path:
    """Where the program is. Without it the test is skipped, or fails under CI."""
    found = shutil.which(program) or next(
        (str(folder / program) for folder in FURTHER_FOLDERS if (folder / program).exists()), None
    )
    if found is not None:
        return Path(found)
    reason = f"{program} is missing: install the package {PACKAGES.get(program, program)}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)

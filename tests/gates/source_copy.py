"""A copy of the source tree that a gate test may spoil, and the real checkers that run over it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def import_linter_on(copy: Path) -> subprocess.CompletedProcess[str]:
    program = (
        "import sys; sys.path.insert(0, 'src'); "
        "from importlinter.cli import lint_imports_command as c; c(['--no-cache'])"
    )
    return subprocess.run(
        [sys.executable, "-c", program], cwd=copy, capture_output=True, text=True, check=False
    )

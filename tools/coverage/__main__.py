"""Arguments of pytest -> a run of it in which branches are counted, a table, and a verdict.

python -m tools.coverage                 the whole suite; fails below a floor of `pyproject.toml`
python -m tools.coverage tests/model     a part of it; the table only
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.coverage.preparation import REPOSITORY, prepare
from tools.coverage.report import (
    EXCEPTIONS,
    read_counts,
    read_exceptions,
    read_floors,
    read_lines,
    shortcomings,
    table,
)

FOLDER = REPOSITORY / ".coverage"
STARTUP = Path(__file__).parent / "startup"


def run_pytest(arguments: list[str], folder: Path) -> int:
    search_path = [str(STARTUP), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "IPMICRA_COVERAGE": str(folder),
        "PYTHONPATH": os.pathsep.join(search_path),
    }
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


def report(folder: Path, whole_suite: bool) -> int:
    counts, floors = read_counts(folder), read_floors()
    print(*table(counts, floors), sep="\n")
    if not whole_suite:
        return 0
    excepted = read_exceptions(EXCEPTIONS.read_text(encoding="utf-8"))
    found = shortcomings(counts, read_lines(), excepted, floors)
    print(*found, sep="\n")
    return 1 if found else 0


def main(arguments: list[str]) -> int:
    prepare(FOLDER)
    whole_suite = not any((REPOSITORY / each.partition("::")[0]).exists() for each in arguments)
    failed = run_pytest(arguments, FOLDER)
    return report(FOLDER, whole_suite) or failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

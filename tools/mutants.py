"""Break named protections one at a time in a copy of the source; each must make its test fail.

python tools/mutants.py            all
python tools/mutants.py --quick    those that `make test` runs too
python tools/mutants.py WORDS      those whose promise contains the words
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from tests.mutants.table import MUTANTS, Mutant  # noqa: E402 - found by the line above

RED = 1  # pytest's code for failed tests; others mean that it could not run


def is_noticed(mutant: Mutant, copy: Path) -> bool:
    """Whether the test fails with the change, in a copy of the source that is as it was afterwards."""
    path = copy / "ipmicra" / mutant.place
    source = path.read_text(encoding="utf-8")
    if source.count(mutant.before) != 1:
        raise SystemExit(f"{mutant.place} does not hold once: {mutant.before!r}")
    path.write_text(source.replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        return exit_code([mutant.test], copy) == RED
    finally:
        path.write_text(source, encoding="utf-8")


def exit_code(tests: list[str], copy: Path) -> int:
    """Of pytest, with the copy instead of the source."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(  # noqa: S603 - our own command
        command, cwd=REPOSITORY, env=environment, capture_output=True, check=False
    ).returncode


def main(words: list[str]) -> int:
    chosen = [mutant for mutant in MUTANTS if mutant.is_quick] if "--quick" in words else list(MUTANTS)
    wanted = " ".join(word for word in words if not word.startswith("--"))
    chosen = [mutant for mutant in chosen if wanted in mutant.promise]
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(REPOSITORY / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        if exit_code(sorted({mutant.test for mutant in chosen}), copy) != 0:
            raise SystemExit("the tests fail without any change: nothing would be shown by that")
        for mutant in chosen:
            noticed = is_noticed(mutant, copy)
            print(f"{'killed  ' if noticed else 'SURVIVED'} {mutant.promise}", flush=True)  # noqa: T201
            survivors += [] if noticed else [mutant]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} killed")  # noqa: T201
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

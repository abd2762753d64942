"""The program as it is now -> the golden files.

    python -m tests.compatibility.regenerate            # all of them
    python -m tests.compatibility.regenerate settings   # some of them

Run it when a change that others can see is wanted, read the difference with `git diff`, and say in the commit
what became of what the version before wrote. Files under `data-0.1/` are never written again.
"""

from __future__ import annotations

import sys

from tests.compatibility.observed import GOLDEN, OBSERVED, written


def main(names: list[str]) -> None:
    for name in names or OBSERVED:
        (GOLDEN / f"{name}.json").write_text(written(OBSERVED[name]()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

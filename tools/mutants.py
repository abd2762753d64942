"""Break named protections one at a time in a copy of the source; each must make its test fail.

The rows are in tests/mutants/rows. Survivors, stale rows and tests that fail without a change are errors.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.mutants.mutant import Mutant, all_mutants, touched_since
from tests.mutants.trials import Result, results


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WORDS",
        help="rows whose name, promise or place holds WORDS; may be given several times",
    )
    parser.add_argument("--quick", action="store_true", help="rows that `make test` tries too")
    parser.add_argument(
        "--changed-since", metavar="REVISION", help="rows whose source, test or text has changed"
    )
    parser.add_argument(
        "--processes", type=int, default=min(2, os.cpu_count() or 1), help="trials at a time"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser.parse_args(words)


def chosen_rows(options: argparse.Namespace) -> list[Mutant]:
    rows = all_mutants()
    if options.changed_since:
        rows = touched_since(rows, options.changed_since)
    rows = [row for row in rows if row.quick or not options.quick]
    return [row for row in rows if is_wanted(row, options.only)]


def is_wanted(row: Mutant, words: list[str]) -> bool:
    text = f"{row.name}\n{row.promise}\n{row.place}"
    return not words or any(each in text for each in words)


def main(words: list[str]) -> int:
    options = parsed(words)
    try:
        rows = chosen_rows(options)
        stale = [problem for row in rows for problem in row.problems()]
        if stale or not rows:
            raise ValueError("\n".join(stale) or "no row is like that")
        tried = results(rows, min(options.processes, len(rows)), tell)
    except ValueError as wrong:
        print(wrong, file=sys.stderr)  # noqa: T201 - a command
        return 2
    report(tried, as_json=options.json)
    return 0 if all(result.is_fine for result in tried) else 1


def tell(result: Result) -> None:
    line = f"{result.word:9} {result.seconds:6.2f} s  {result.mutant.name}: {result.mutant.promise}"
    print(line, file=sys.stderr, flush=True)  # noqa: T201
    if not result.is_fine:
        print(result.output, file=sys.stderr)  # noqa: T201


def report(tried: list[Result], *, as_json: bool) -> None:
    counts = {
        word: sum(result.word == word for result in tried) for word in {each.word for each in tried}
    }
    if as_json:
        print(msgspec.json.encode({"counts": counts, "results": tried}).decode())  # noqa: T201
    else:
        print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))  # noqa: T201


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

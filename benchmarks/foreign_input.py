"""How long can each piece of foreign input hold up the event loop, and which input is the slowest?

Every way for a site into the loop, with its cap and the longest piece of work without a pause at that cap,
over all hostile inputs that we know of (`tests/hostile/worst_inputs.py`), in milliseconds of processor time;
the best of several runs each. PDF is not here: it is never read on the loop.

    python -m benchmarks foreign_input
"""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from tests.hostile.worst_inputs import FOREIGN_INPUTS, Case, ForeignInput


def main() -> None:
    layout = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser("foreign_input", description=__doc__, formatter_class=layout)
    parser.add_argument("--runs", type=int, default=3, help="of each input; the best counts")
    runs = parser.parse_args().runs
    table = Table("input", "cap", "worst ms", "by", "inputs tried")
    for foreign in FOREIGN_INPUTS:
        worst_ms, name = _worst(foreign, runs)
        table.add_row(foreign.what, foreign.cap, f"{worst_ms:.1f}", name, str(len(foreign.cases)))
    Console(width=150).print(table)


def _worst(foreign: ForeignInput, runs: int) -> tuple[float, str]:
    return max((1000 * _best(case, runs), name) for name, case in foreign.cases.items())


def _best(case: Case, runs: int) -> float:
    return min(case() for _ in range(runs))

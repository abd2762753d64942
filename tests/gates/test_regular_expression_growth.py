"""The proofs of `test_regular_expressions.py` are true: time grows with an attack's length, not its square.

For every expression that strangers' bytes meet, attacks are made from its own parts: what may begin a match,
then one of the runs that its repeats take, many times, then what no match takes. Processor time is compared
between two lengths. No module may use an engine that the gate does not see.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from tests.gates.expression_proofs import PROOFS, SOURCE, letters_of, parser, repeats

SHORT, LONG = 2_000, 16_000
GROWTH_MAX = 3.0  # times the growth of the length; a square would be 8 times
NOTICEABLE_SECONDS = 0.002
ENDS = ("", "\x00", "<", '"', "x")


def attacks(pattern: str | bytes) -> Iterator[Callable[[int], str]]:
    """Each gives a text of so many units."""
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    parsed = parser.parse(text)
    bodies: list[Any] = [body for _, _, body in repeats(parsed)]
    units = {letter for body in bodies for letter in sorted(letters_of(list(body)))[:3]}
    begin = "".join(chr(value) for kind, value in parsed if str(kind) == "LITERAL")
    units |= {begin, f"{begin} ", f"{begin}x"} - {""}
    for start, unit, end in product({"", begin, f"{begin} "}, sorted(units), ENDS):
        yield lambda count, start=start, unit=unit, end=end: start + unit * count + end  # type: ignore[misc]


def seconds_of(pattern: str | bytes, text: str) -> float:
    """As the program uses it: what is proven to be anchored is matched at the start only."""
    compiled: re.Pattern[str] | re.Pattern[bytes] = re.compile(pattern)
    subject = text if isinstance(pattern, str) else text.encode("utf-8")
    use = compiled.match if "match()" in PROOFS[pattern] else compiled.search
    began = time.thread_time()
    use(subject)  # type: ignore[arg-type]
    return time.thread_time() - began


def grows_too_fast(pattern: str | bytes, attack: Callable[[int], str]) -> bool:
    """Judged by the best of three runs, and only if the long one takes a noticeable time at all."""
    if seconds_of(pattern, attack(LONG)) < NOTICEABLE_SECONDS:
        return False
    short, long = (min(seconds_of(pattern, attack(count)) for _ in range(3)) for count in (SHORT, LONG))
    return long > NOTICEABLE_SECONDS and long > GROWTH_MAX * (LONG / SHORT) * short


UNCAPPED = [pattern for pattern in PROOFS if "at most" not in PROOFS[pattern]]


@pytest.mark.parametrize("pattern", UNCAPPED, ids=map(repr, UNCAPPED))
def test_no_attack_made_of_an_expression_takes_more_than_linear_time(pattern: str | bytes) -> None:
    assert not [attack(3) for attack in attacks(pattern) if grows_too_fast(pattern, attack)]


@pytest.mark.parametrize("pattern", [r"x*y", r"[ab]*c"])
def test_the_attacks_find_what_backtracks(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROOFS, pattern, "")
    monkeypatch.setattr("tests.gates.test_regular_expression_growth.SHORT", 400)
    monkeypatch.setattr("tests.gates.test_regular_expression_growth.LONG", 3_200)
    assert any(grows_too_fast(pattern, attack) for attack in attacks(pattern))


def test_no_module_reads_with_an_engine_that_the_gate_does_not_see() -> None:
    hidden = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            is_renamed = isinstance(node, ast.Import) and any(
                alias.name == "re" and alias.asname for alias in node.names
            )
            is_taken_apart = isinstance(node, ast.ImportFrom) and node.module in (
                "re",
                "regex",
                "sre_compile",
            )
            if is_renamed or is_taken_apart or "regex" in names:
                hidden.append(str(path.relative_to(SOURCE)))
    assert not hidden, "write `import re` and `re.compile(...)`, so that the gate finds the expression"

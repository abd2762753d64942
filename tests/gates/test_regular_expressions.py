"""Regular expressions take time linear in what strangers send, or are not used on it.

Every expression of the program is found by reading its source. Without a repeat of more than `SHORT` it
needs no proof. All others stand in `PROOFS` with the reason why they are linear, or in `OWN_INPUT` with who
wrote what they read. A new one is red until somebody has thought about it. The check of adjacent repeats
finds the expression that once froze crawlers: `\\s*[\\d.]*\\s*[;,]?\\s*url`.
"""

from __future__ import annotations

import pytest

from tests.gates.expression_proofs import (
    OWN_INPUT,
    PROOFS,
    SOURCE,
    ambiguous,
    expressions,
    has_long_repeat,
)


def test_every_expression_with_a_long_repeat_has_a_proof_or_reads_our_own_input() -> None:
    listed = {**PROOFS, **OWN_INPUT}
    unlisted = [
        f"{path.relative_to(SOURCE)}: {pattern!r}"
        for path, pattern in expressions()
        if pattern not in listed and has_long_repeat(pattern)
    ]
    assert not unlisted, "say in this file why they are linear:\n" + "\n".join(unlisted)


def test_no_proof_is_about_an_expression_that_is_gone() -> None:
    used = {pattern for _, pattern in expressions()}
    assert not [pattern for pattern in (*PROOFS, *OWN_INPUT) if pattern not in used]


@pytest.mark.parametrize("pattern", PROOFS, ids=map(repr, PROOFS))
def test_no_run_of_strangers_can_be_divided_in_many_ways(pattern: str | bytes) -> None:
    explained = any(words in PROOFS[pattern] for words in ("at most", "one way only"))
    assert explained or not ambiguous(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s*[\d.]*\s*[;,]?\s*url\s*=\s*[\"']?([^\"'\s]+)[\"']?\s*",
        r"(a+)+b",
        r"\s*\s*x",
        r"\w*\d*x",
        rb"a[^>]*b?[^<]*c",
    ],
)
def test_the_check_finds_expressions_that_backtrack(pattern: str | bytes) -> None:
    assert ambiguous(pattern)

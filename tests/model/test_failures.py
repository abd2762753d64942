"""The catalogue of failures: every kind that the sources use is in it, with words and advice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.model.failures import (
    FailureKind,
    Kind,
    blame_of,
    description_of,
    failure_of,
    family_of,
    is_worth_a_retry,
    kind_of,
    status_kind,
)

SOURCES = Path(__file__).parents[2] / "src" / "ipmicra"
CATALOGUE = SOURCES / "model" / "failures.py"
TAKES_A_KIND = {"VisitFailed", "failed", "FetchFailed"}  # calls whose kind is recorded


@given(word=st.text(max_size=50) | st.from_regex(r"status [0-9]{1,4}", fullmatch=True))
def test_every_word_has_a_kind_with_words_and_advice(word: str) -> None:
    kind = kind_of(word)
    assert len(kind) <= 40
    assert description_of(kind)
    assert family_of(kind).advice
    assert failure_of(word) in FailureKind


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_is_read_back_and_described(kind: FailureKind) -> None:
    assert kind_of(kind.value) is kind
    assert description_of(kind)
    assert family_of(kind).whose
    assert blame_of(kind) in ("site", "host", "operator", "ours")
    assert is_worth_a_retry(kind) in (True, False)


def test_our_own_defects_are_called_ours() -> None:
    """They were counted as an unknown kind, with the advice that one of the two versions is older."""
    kind = kind_of("our_defect")
    assert kind is FailureKind.OUR_DEFECT
    assert family_of(kind).name == "defects"
    assert family_of(kind).whose == "ours"


def test_every_kind_is_used_by_the_sources_and_written_nowhere_else() -> None:
    used = {
        node.attr
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "FailureKind"
    }
    assert used | {"OTHER"} == {kind.name for kind in FailureKind}
    spelled = [
        (ast.unparse(call), argument.value)
        for tree in trees()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and called(call) in TAKES_A_KIND
        for argument in [
            *call.args,
            *(keyword.value for keyword in call.keywords if keyword.arg == "kind"),
        ]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value
    ]
    assert not spelled, "a kind is a member of FailureKind, or made by status_kind"


def trees() -> Iterator[ast.Module]:
    for path in sorted(SOURCES.rglob("*.py")):
        if path != CATALOGUE:
            yield ast.parse(path.read_text())


def called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        (status_kind(403), "turned-away"),
        (status_kind(400), "not-accepted"),
        (status_kind(502), "server-fails"),
        (status_kind(520), "server-fails"),
        (status_kind(300), "odd-status"),
    ],
)
def test_a_status_has_the_family_of_what_it_means(kind: Kind, family: str) -> None:
    assert family_of(kind).name == family

"""A search's answer as a person reads it on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ipmicra.cli.display.search_answers import shown
from ipmicra.model.search import Hit, SearchAnswer

HIT = Hit(
    url="https://a.example/otters",
    site="https://a.example",
    title="Otters\x1b[31m",
    snippet="all <mark>otters</mark> &amp; \x07fish",
    language="en",
    crawler="lima",
    fetched_at_ms=1_700_000_000_000,
    published_at_s=None,
    score=1.0,
    alike=2,
    more_from_site=3,
    missing=["beaver"],
)


def text_of(answer: SearchAnswer) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(shown(answer))
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def test_a_hit_is_shown_with_its_notes_and_without_control_characters() -> None:
    text = text_of(SearchAnswer(hits=[HIT], total=1, took_ms=1.25))
    assert "all otters & \N{REPLACEMENT CHARACTER}fish" in text
    assert "seen 2023-11-14 22:13 UTC by lima, 2 alike, 3 more from https://a.example" in text
    assert "does not have: beaver" in text
    assert "1 page matches, 1.2 ms" in text
    assert not {"\x1b", "\x07"} & set(text)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (SearchAnswer(hits=[], total=0, took_ms=1.0), "No pages found. Try fewer words"),
        (SearchAnswer(hits=[], total=1_200, took_ms=1.0), "1,200 pages match"),
        (SearchAnswer(hits=[], total=1, took_ms=1.0, without=["the"]), "; without: the"),
        (SearchAnswer(hits=[], total=1, took_ms=1.0, remarks=["cut"]), "; cut"),
        (SearchAnswer(hits=[], total=1, took_ms=1.0, did_you_mean="otter"), "Did you mean: otter"),
        (
            SearchAnswer(hits=[], total=1, took_ms=1.0, did_you_mean="otter", corrected=True),
            "Showing results for: otter",
        ),
    ],
)
def test_what_is_to_know_about_an_answer_is_said(answer: SearchAnswer, words: str) -> None:
    assert words in text_of(answer)

"""Snippets: the best place, marked, everything else escaped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.search.ranking.snippets import SNIPPET_CHARACTERS, Excerpted, Marker

FILLER = "nothing of interest here " * 40


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("a crawler", ["crawler"], "a <mark>crawler</mark>"),
        ("two Crawlers", ["crawler"], "two <mark>Crawlers</mark>"),
        ("a<b & 'c' needle", ["needle"], "a&lt;b &amp; &#x27;c&#x27; <mark>needle</mark>"),
        ("needle", [], "needle"),
        ("no such word", ["needle"], "no such word"),
        ("今日は東京都の天気", ["東京都"], "今日は<mark>東京都</mark>の天気"),
        ("pineapple", ["apple"], "pineapple"),
        ("one\ntwo", ["two"], "one <mark>two</mark>"),
    ],
)
def test_words_are_marked_and_the_rest_is_escaped(text: str, words: list[str], expected: str) -> None:
    assert Marker(words).snippet(text) == expected


def test_the_place_with_most_of_the_words_is_shown() -> None:
    text = f"alpha {FILLER} alpha beta gamma {FILLER} gamma"
    shown = Marker(["alpha", "beta", "gamma"]).snippet(text)
    assert "<mark>alpha</mark> <mark>beta</mark> <mark>gamma</mark>" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_a_description_stands_in_where_the_text_lacks_the_words() -> None:
    assert Marker(["needle"]).snippet("text", "about a needle") == "about a <mark>needle</mark>"


@given(st.text(max_size=500), st.lists(st.text(max_size=20), max_size=5), st.text(max_size=50))
def test_whatever_the_text_only_marks_are_markup(text: str, words: list[str], description: str) -> None:
    shown = Marker(words).snippet(text, description)
    rest = shown.replace("<mark>", "").replace("</mark>", "")
    assert "<" not in rest
    assert ">" not in rest
    assert len(rest) <= SNIPPET_CHARACTERS * 6 + 10


def test_where_the_first_places_are_far_apart_the_one_in_company_is_shown() -> None:
    text = f"alpha {FILLER} Gamma and beta, alpha behind them {FILLER}"
    shown = Marker(["alpha", "beta", "gamma"]).snippet(text)
    assert "<mark>Gamma</mark> and <mark>beta</mark>, <mark>alpha</mark>" in shown


def test_texts_marked_together_are_marked_as_if_each_were_alone() -> None:
    texts = ["İ and a needle", "a Needle \x04 and more", "", "nothing", f"{FILLER} needles"]
    marker = Marker(["needle"])
    together = marker.snippets([Excerpted(text, "described") for text in texts])
    assert together == [marker.snippet(text, "described") for text in texts]


def test_the_rest_of_a_text_is_fetched_only_where_the_head_lacks_the_words() -> None:
    fetched: list[str] = []

    def rest() -> str:
        fetched.append("rest")
        return "the needle"

    marker = Marker(["needle"])
    assert marker.snippets([Excerpted("a needle", rest=rest)]) == ["a <mark>needle</mark>"]
    assert fetched == []
    assert marker.snippets([Excerpted("hay", rest=rest)]) == ["the <mark>needle</mark>"]

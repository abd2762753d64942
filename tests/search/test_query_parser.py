"""Questions: a few plain words are read on a short way, which must lead where the long one does."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from ipmicra.search.query.query_parser import All, QueryWords, parse_any, parse_query

PIECES = st.sampled_from(
    ["a", "b_1", "é", "東京", "OR", "AND", "or", " ", "\t", "\x1c", "\xa0", "-", '"', "(", ":"]
)


def test_plain_words_are_all_wanted() -> None:
    assert parse_query("two  words").asked == All((QueryWords("two"), QueryWords("words")))


@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30))
@example("word " * 40)
@example("")
def test_the_short_way_leads_where_the_long_one_does(text: str) -> None:
    assert parse_query(text) == parse_any(text)

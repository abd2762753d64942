"""Without numpy the bits are the same."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.model import plain_similarity, similarity

WORDS = st.lists(st.text(max_size=12), max_size=400).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(st.one_of(WORDS, st.text(max_size=2_000), st.text(alphabet="中文字符", max_size=300)))
def test_both_give_the_same_bits(text: str) -> None:
    assert plain_similarity.similarity_hash(text) == similarity.similarity_hash(text)


def test_a_long_text_has_the_same_hash() -> None:
    text = " ".join(f"word{number * 7919 % 1000}" for number in range(3_000))
    assert plain_similarity.similarity_hash(text) == similarity.similarity_hash(text) != 0

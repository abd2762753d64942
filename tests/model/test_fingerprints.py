"""Fingerprints: any change changes one of them, small changes hardly touch the other."""

from __future__ import annotations

import random

from ipmicra.model.fingerprints import content_hash
from ipmicra.model.similarity import bits_apart, similarity_hash


def prose(seed: int, words: int = 600) -> list[str]:
    dice = random.Random(seed)
    lexicon = [
        "".join(dice.choices("abcdefghijklmnoprstuvw", k=dice.randint(2, 10))) for _ in range(400)
    ]
    return [dice.choice(lexicon) for _ in range(words)]


def test_the_content_hash_sees_where_parts_end() -> None:
    assert content_hash(["ab", "c"]) != content_hash(["a", "bc"])
    assert content_hash(["ab", "c"]) == content_hash(["ab", "c"])
    assert len(content_hash([])) == 16


def test_a_changed_date_line_leaves_pages_alike_and_other_pages_are_far_apart() -> None:
    for seed in range(20):
        words = prose(seed)
        original = similarity_hash(" ".join(words))
        changed = similarity_hash(" ".join([*words[:50], "seen", "on", "monday", *words[50:]]))
        other = similarity_hash(" ".join(prose(seed + 1000)))
        assert bits_apart(original, changed) <= 6
        assert bits_apart(original, other) >= 12


def test_white_space_and_case_do_not_count() -> None:
    words = prose(1)
    assert similarity_hash(" ".join(words)) == similarity_hash("\n".join(words).upper())


def test_too_little_text_has_no_similarity_hash() -> None:
    assert similarity_hash("only a few words here") == 0
    assert similarity_hash("") == 0


def test_text_without_spaces_has_one() -> None:
    text = "".join(chr(0x4E00 + number % 900) for number in range(2000))
    assert similarity_hash(text) != 0
    assert bits_apart(similarity_hash(text), similarity_hash(text[:1990])) <= 6

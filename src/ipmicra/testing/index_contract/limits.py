"""Queries that are too long, too deep or made to cost much -> an answer, which says what it leaves out."""

from __future__ import annotations

import random
import time

from ipmicra.model.search import SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.testing.index_contract.promises import INDEX, A, B, fill
from ipmicra.testing.page_records import seen

ALPHABET = 'ab"()-:ORsitelangnear*~^[]{}\\/ \0日é'
TEXTS = 200
ANSWER_CPU_S_MAX = 0.5  # for any text
HOSTILE_CPU_S_MAX = 0.2  # for a query made to cost much, in an index of 50 pages


@INDEX.promise
def a_question_beyond_the_caps_is_cut_and_says_so(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "word"))
    answer = index.search(SearchRequest(text="word " * 500))
    assert answer.partial
    assert answer.remarks
    assert [hit.url for hit in answer.hits] == [A]


@INDEX.promise
def any_text_is_a_question(index: SearchIndex) -> None:
    dice = random.Random(1)
    for _ in range(TEXTS):
        ask_anything(index, "".join(dice.choices(ALPHABET, k=dice.randrange(200))))


def ask_anything(index: SearchIndex, text: str) -> None:
    """Ask an index of one page any text at all: it answers, and soon."""
    if index.page_count() == 0:
        fill(index, seen(A, "ab", "a b site lang"))
    started_s = time.process_time()  # of this process: neighbours do not count
    answer = index.search(SearchRequest(text=text))
    assert len(answer.hits) <= 1, text
    assert time.process_time() - started_s < ANSWER_CPU_S_MAX, text


@INDEX.promise
def results_beyond_what_is_looked_at_are_said_to_be_partial(index: SearchIndex) -> None:
    """A site with more pages than are looked at hides the others; the answer admits it."""
    pages = [seen(f"{A}{number}", "otter otter", f"otter {number}") for number in range(1_200)]
    fill(index, *pages, seen(B, "fish", "an otter far below " * 9))
    answer = index.search(SearchRequest(text="otter", limit=10))
    assert answer.total == 1_201
    assert answer.partial
    assert answer.remarks


@INDEX.promise
def hostile_questions_cost_little(index: SearchIndex) -> None:
    fill(index, *[seen(f"{A}{number}", f"t{number}", "a b c d e f g " * 50) for number in range(50)])
    for text in (
        "(" * 900,
        '"' * 900,
        "a OR " * 200,
        "-a " * 300,
        "(a OR (b OR (c OR (d OR (e OR (f" * 20,
        "a*" * 400,
        "-(a -(b -(c -(d" * 50,
    ):
        started_s = time.process_time()
        index.search(SearchRequest(text=text))
        assert time.process_time() - started_s < HOSTILE_CPU_S_MAX, text

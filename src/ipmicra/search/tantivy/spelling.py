"""A question that finds nothing -> the one that was probably meant.

Invariant: only words that no page has are doubted, and only words that pages have are proposed. The cost is
capped: a few words, each looked up once with a typo or two allowed, and a few pages read for how they
spell it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import tantivy
from tantivy import Query

from ipmicra.search.query.query_parser import ParsedQuery

_WORDS_MAX = 4
_PAGES_READ = 8  # of those that have a word like it
_FIELDS = ("title", "text")
_LETTERS_MIN = 3
_PIECES = re.compile(r"[^\s!-/:-@\[-`{-~]+")  # of `shared_memory` two

TextsOf = Callable[[list[int]], Iterable[str]]  # the texts of pages


class Spelling:
    """The words of one index."""

    def __init__(
        self,
        schema: tantivy.Schema,
        searcher: tantivy.Searcher,
        words: tantivy.TextAnalyzer,
        texts_of: TextsOf,
    ) -> None:
        self._schema, self._searcher, self._words, self._texts_of = schema, searcher, words, texts_of

    def better(self, text: str, question: ParsedQuery) -> str:
        """The question with its unknown words replaced, or "" where there is nothing to improve."""
        better = text
        for word in question.plain_words()[:_WORDS_MAX]:
            for piece in _PIECES.findall(word):
                terms = self._words.analyze(piece)
                if len(terms) == 1 and len(terms[0]) >= _LETTERS_MIN and not self._pages_with(terms[0]):
                    better = better.replace(piece, self._nearest(terms[0]) or piece)
        return better if better != text else ""

    def _pages_with(self, term: str) -> int:
        return max(self._searcher.doc_freq(field, term) for field in _FIELDS)

    def _nearest(self, term: str) -> str:
        """The known word with the fewest edits; of several the commonest."""
        for edits_max in (1,) if len(term) < 6 else (1, 2):
            near = {
                other
                for field in _FIELDS
                for other in self._spelt(field, term, edits_max)
                if edits(term, other, edits_max) <= edits_max
            }
            if near:
                return max(sorted(near), key=self._pages_with)
        return ""

    def _spelt(self, field: str, term: str, edits_max: int) -> set[str]:
        """The words of a few pages that have one like it."""
        alike = Query.fuzzy_term_query(
            self._schema, field, term, distance=edits_max, transposition_cost_one=True
        )
        hits = self._searcher.search(alike, _PAGES_READ, count=False).hits
        pages = self._searcher.fast_field_values("id", [address for _, address in hits])
        texts = self._texts_of([int(page or 0) for page in pages])
        return {
            word
            for text in texts
            for word in self._words.analyze(text)
            if abs(len(word) - len(term)) <= edits_max
        }


def edits(one: str, other: str, edits_max: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours; more than `edits_max` is not counted."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        new = [i]
        for j, right in enumerate(other, 1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            new.append(cost)
        before, row = row, new
        if min(row) > edits_max:
            return edits_max + 1
    return row[-1]

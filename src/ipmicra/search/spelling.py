"""A question that finds nothing -> the one that was probably meant.

Law: only words that no page has are doubted, and only words that pages have are proposed. The cost is
capped: a few words, each compared with a bounded part of the dictionary.
"""

from __future__ import annotations

import tantivy

from ipmicra.search.question import Question

_WORDS_MAX = 4
_NEIGHBOURS_MAX = 20_000  # words of the dictionary that begin alike
_ENOUGH_RESULTS = 1
_FIELDS = ("text", "title")


def better_spelling(
    text: str, question: Question, searcher: tantivy.Searcher, analyzer: tantivy.TextAnalyzer, total: int
) -> str:
    """The question with its unknown words replaced, or "" where there is nothing to improve."""
    if total >= _ENOUGH_RESULTS:
        return ""
    better = text
    for word in question.words()[:_WORDS_MAX]:
        terms = analyzer.analyze(word)
        if len(terms) != 1 or len(terms[0]) < 3 or _known(searcher, terms[0]):
            continue
        meant = _nearest(searcher, terms[0])
        if meant:
            better = better.replace(word, meant)
    return better if better != text else ""


def _known(searcher: tantivy.Searcher, term: str) -> bool:
    return any(searcher.doc_freq(field, term) for field in _FIELDS)


def _nearest(searcher: tantivy.Searcher, term: str) -> str:
    """The known word with the fewest edits; of several the commonest. Its first letter is believed."""
    edits_max = 1 if len(term) < 6 else 2
    best = (edits_max + 1, 0, "")
    for other, pages in searcher.terms_with_prefix("text", term[0], limit=_NEIGHBOURS_MAX):
        if abs(len(other) - len(term)) > edits_max:
            continue
        best = min(best, (edits(term, other, edits_max), -pages, other))
    return best[2] if best[0] <= edits_max else ""


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

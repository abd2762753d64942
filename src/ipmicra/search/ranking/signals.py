"""Candidates, what each is called, and the question -> one score a candidate: the table of signals.

Invariant: pure. Every signal lies between 0 and 1 and every weight is positive, so a signal can only lift
a page. `WEIGHTS` is the whole model: a sum of signals, times what a page is worth by itself. The weights
were learned on the tuning part of the judged questions (`python -m benchmarks judged --learn`), never on
the test part."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import numpy as np

from ipmicra.search.ranking.page_names import (
    ANCHOR,
    DEFINED,
    HEADING,
    PATH,
    SITE,
    SLUG,
    TITLE,
    PageNames,
)

# signal: (weight, meaning)
WEIGHTS: dict[str, float] = {
    "text": 1.9,  # BM25F of the whole page, relative to the best candidate
    "coverage": 1.5,  # words of the question that the page has, rare ones counting more
    "title_cover": 0.8,  # words of the question that its title has
    "title_near": 0.7,  # the same, times the words of the title that the question has
    "title_exact": 1.0,  # a part of its title is the question
    "heading_near": 0.9,
    "heading_exact": 1.3,
    "anchor_near": 0.2,  # the same for the texts of links to it
    "anchor_exact": 1.0,
    "address_near": 0.1,  # words of its address
    "address_exact": 0.4,  # the last word of its address is the question
    "defined": 0.6,  # it explains a name in code that the question has
    "code_defined": 1.0,  # the same, where the name can only be one in code: os.path.join, __init__
    "together": 1.3,  # words of the question follow each other in its text
    "site_named": 0.7,  # the question names its site; then that word need not be in its title
    "brief": 0.1,  # it is not one of the very long pages, which have every word somewhere
    "root": 0.1,  # it is the first page of its site
    "language": 0.1,  # it is in the language of the question
}
THIN_WORDS = 30  # a page with fewer words is worth less by itself
THIN_LOSS = 0.3
LONG_WORDS = 5_000  # a page with this number of words has half of the signal "brief"
LINK_LIST_LOSS = 0.3  # of a page that is nothing but links
_CROWD = 0.5  # what many candidates share says less: divided by this power of their number

Column: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
SIGNALS = tuple(WEIGHTS)
_EXACT = [SIGNALS.index(f"{kind}_exact") for kind in ("title", "heading", "anchor", "address")]
_TITLE_COVER, _SITE_NAMED = SIGNALS.index("title_cover"), SIGNALS.index("site_named")
_DEFINED, _CODE_DEFINED = SIGNALS.index("defined"), SIGNALS.index("code_defined")
_BRIEF, _ROOT, _LANGUAGE = (SIGNALS.index(name) for name in ("brief", "root", "language"))
_COLUMNS = {  # of each kind of name: where its near match goes, and its exact one
    kind: (SIGNALS.index(f"{name}_near"), SIGNALS.index(f"{name}_exact"))
    for kind, name in (
        (TITLE, "title"), (HEADING, "heading"), (ANCHOR, "anchor"), (SLUG, "address"), (PATH, "address")
    )
}  # fmt: skip
_TEXT, _COVERAGE, _TOGETHER = (SIGNALS.index(name) for name in ("text", "coverage", "together"))
_UNKNOWN = PageNames("", THIN_WORDS, 0.0, False, "\n")  # a page whose names are not worked out yet
_WEIGHT_COLUMN = np.array([*WEIGHTS.values()])


class AskedWord(NamedTuple):
    """A word of the question; `weight` is its rarity, 0 for a stop word."""

    text: str
    weight: float


class Evidence(NamedTuple):
    """The facts about the candidates, one row or entry each."""

    score: Column  # by the engine
    coverage: Column
    together: Column
    names: Sequence[PageNames | None]


class _Normal(NamedTuple):
    """The question in one language's stems."""

    whole: str
    content: str
    weights: Mapping[str, float]  # of content stems; they sum to 1
    stems: frozenset[str]


_Signal: TypeAlias = tuple[int, int, float]  # row, column, value


class _NameLine(NamedTuple):
    """A name that has a word of the question."""

    kind: str
    name: str


Stemmer = Callable[[str, str], list[str]]  # of (stemmer, text)


def signal_matrix(
    asked: Sequence[AskedWord], evidence: Evidence, stem: Stemmer, question_stemmer: str = ""
) -> Matrix:
    """One row per candidate, one column per signal."""
    matrix = np.zeros((len(evidence.names), len(SIGNALS)))
    if not len(matrix):
        return matrix
    pages = [page or _UNKNOWN for page in evidence.names]
    stemmers = [page.stemmer for page in pages]
    best = float(evidence.score.max())
    matrix[:, _TEXT] = evidence.score / best if best > 0 else 0.0
    matrix[:, _COVERAGE] = evidence.coverage
    matrix[:, _TOGETHER] = evidence.together
    matrix[:, _BRIEF] = 1 / (1 + np.array([page.words for page in pages]) / LONG_WORDS)
    matrix[:, _ROOT] = [page.is_root for page in pages]
    matrix[:, _LANGUAGE] = [stemmer == question_stemmer for stemmer in stemmers]
    signals: list[_Signal] = []
    for stemmer in dict.fromkeys(stemmers):
        rows = [row for row, one in enumerate(stemmers) if one == stemmer]
        lines = _Lines(rows, [pages[row].lines for row in rows])
        signals += _name_signals(lines, asked, partial(_normal, asked, stemmer, stem))
    if signals:
        at_rows, at_columns, values = zip(*signals, strict=True)
        np.maximum.at(matrix, (at_rows, at_columns), values)
    shared = np.maximum(1.0, matrix[:, _EXACT].sum(axis=0))
    matrix[:, _EXACT] /= shared**_CROWD
    return matrix


def scored(matrix: Matrix, names: Sequence[PageNames | None]) -> Column:
    """What the table says of each candidate."""
    total: Column = matrix @ _WEIGHT_COLUMN
    return total * page_worths(names)


def page_worths(names: Sequence[PageNames | None]) -> Column:
    """Of each page by itself: little text, or nothing but links, is worth less."""
    words = np.array([(page or _UNKNOWN).words for page in names])
    link_share = np.array([(page or _UNKNOWN).link_share for page in names])
    thin = THIN_LOSS * np.maximum(0.0, 1 - words / THIN_WORDS)
    worths: Column = (1 - thin) * (1 - LINK_LIST_LOSS * link_share**2)
    return worths


class _Lines:
    """The names of several pages as one text, which is searched once for all of them."""

    def __init__(self, rows: Sequence[int], lines: Sequence[str]) -> None:
        self._rows, self._text = rows, "".join(lines)
        self._ends = [*accumulate(map(len, lines))]

    def touched(self, stems: Iterable[str]) -> dict[int, list[_NameLine]]:
        """By row, the names that have at least one of the stems."""
        text, starts = self._text, set[int]()
        for one in stems:
            starts.update([text.rfind("\n", 0, at) for at in _occurrences(text, f" {one} ")])
        found: dict[int, list[_NameLine]] = {}
        for start in starts:
            name = text[start + 3 : text.index("\n", start + 1) - 1]
            found.setdefault(self._row_at(start), []).append(_NameLine(text[start + 1], name))
        return found

    def rows_defining(self, word: str) -> list[int]:
        return [self._row_at(at) for at in _occurrences(self._text, f"\n{DEFINED} {word} \n")]

    def _row_at(self, position: int) -> int:
        return self._rows[bisect_right(self._ends, position)]


def _occurrences(text: str, needle: str) -> list[int]:
    """Where it begins; two may share their first and last character."""
    found, at = [], text.find(needle)
    while at >= 0:
        found.append(at)
        at = text.find(needle, at + len(needle) - 1)
    return found


def _name_signals(
    lines: _Lines, asked: Sequence[AskedWord], normal_without: Callable[[Sequence[str]], _Normal]
) -> Iterator[_Signal]:
    """Of all names that have words of the question."""
    for word in {word.text.lower() for word in asked if word.weight}:
        for row in lines.rows_defining(word):
            yield row, _DEFINED, 1.0
            if _is_code(word):
                yield row, _CODE_DEFINED, 1.0
    normal = normal_without(())
    for row, touched in lines.touched(normal.weights).items():
        site = [line.name for line in touched if line.kind == SITE]
        here = normal
        if site:
            yield row, _SITE_NAMED, 1.0
            here = normal_without(site) if len(site) < len(normal.weights) else normal
        for line in touched:
            yield from _line_signals(row, line, here)


def _line_signals(row: int, line: _NameLine, asked: _Normal) -> Iterator[_Signal]:
    if line.kind not in _COLUMNS:
        return
    near_at, exact_at = _COLUMNS[line.kind]
    cover, near = _match(line.name, asked)
    if line.kind == TITLE:
        yield row, _TITLE_COVER, cover
    if line.kind == PATH:
        near = max(near, 0.5 * cover)
    elif line.name in (asked.whole, asked.content):
        yield row, exact_at, 1.0
    yield row, near_at, near


def _normal(
    asked: Sequence[AskedWord], stemmer: str, stem: Stemmer, site: Sequence[str] = ()
) -> _Normal:
    """Without the words that name the site, and without names in code that only look like a word."""
    cut = [
        ([one for one in stem(stemmer, word.text) if one not in site], word.weight)
        for word in asked
        if word.text[0] != "_"
    ]
    weights: dict[str, float] = {}
    for stems, weight in cut:
        for one in stems:
            weights[one] = max(weights.get(one, 0.0), weight / max(1, len(stems)))
    total = sum(weights.values()) or 1.0
    return _Normal(
        whole=" ".join([one for stems, _ in cut for one in stems]),
        content=" ".join([one for stems, weight in cut for one in stems if weight > 0]),
        weights={one: weight / total for one, weight in weights.items() if weight > 0},
        stems=frozenset(weights),
    )


def _is_code(word: str) -> bool:
    return "_" in word or "::" in word or ("." in word and not word[0].isdigit())


def _match(name: str, asked: _Normal) -> tuple[float, float]:
    """How much of the question the name has, and that times how much of the name the question has."""
    words = name.split(" ")
    inside = [word for word in words if word in asked.stems]
    if not inside:
        return 0.0, 0.0
    weights = asked.weights
    cover = sum([weights.get(word, 0.0) for word in set(inside)])
    return cover, cover * len(inside) / len(words)


def rarity(pages: int, pages_with: int) -> float:
    """How much a word says: BM25's inverse document frequency."""
    return math.log(1 + (pages - pages_with + 0.5) / (pages_with + 0.5))

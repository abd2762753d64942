"""Candidates, what each is called, and the question -> one score a candidate: the table of signals.

Invariant: pure. Every signal lies between 0 and 1 and every weight is positive, so a signal can only lift
a page. `WEIGHTS` is the whole model: a sum of signals, times what a page is worth by itself. The weights
were learned on the tuning part of the judged questions (`python -m benchmarks judged --learn`), never on
the test part."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ipmicra.search.ranking.page_names import PageNames

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


class AskedWord(NamedTuple):
    """A word of the question; `weight` is its rarity, 0 for a stop word."""

    text: str
    weight: float


class Evidence(NamedTuple):
    """What is known of the candidates, a row or an entry each."""

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
    touches: Callable[[str], object]  # false for a name that has none of the words


Stemmer = Callable[[str, str], list[str]]  # of (stemmer, text)


def signal_matrix(
    asked: Sequence[AskedWord], evidence: Evidence, stem: Stemmer, question_stemmer: str = ""
) -> Matrix:
    """A row a candidate, a column a signal."""
    matrix = np.zeros((len(evidence.names), len(SIGNALS)))
    if not len(matrix):
        return matrix
    normals: dict[tuple[str, ...], _Normal] = {}
    words = [word.text.lower() for word in asked if word.weight]
    codes = frozenset(words), frozenset(word for word in words if _is_code(word))
    for row, names in enumerate(evidence.names):
        if names is None:
            continue
        normal = normals.get((names.stemmer,))
        if normal is None:
            normal = normals[names.stemmer,] = _normal(asked, names.stemmer, stem)
        site = [one for one in names.site if one in normal.weights]
        if site and len(site) < len(normal.weights):
            key = (names.stemmer, *site)
            normal = normals.get(key) or normals.setdefault(
                key, _normal(asked, names.stemmer, stem, site)
            )
        matrix[row] = _signals(names, normal, codes, question_stemmer, bool(site))
    best = float(evidence.score.max())
    matrix[:, SIGNALS.index("text")] = evidence.score / best if best > 0 else 0.0
    matrix[:, SIGNALS.index("coverage")] = evidence.coverage
    matrix[:, SIGNALS.index("together")] = evidence.together
    shared = np.maximum(1.0, matrix[:, _EXACT].sum(axis=0))
    matrix[:, _EXACT] /= shared**_CROWD
    return matrix


def scored(matrix: Matrix, names: Sequence[PageNames | None]) -> Column:
    """What the table says of each candidate."""
    total: Column = matrix @ np.array([WEIGHTS[name] for name in SIGNALS])
    worth: Column = np.array([page_worth(one) for one in names])
    return total * worth


def page_worth(names: PageNames | None) -> float:
    """Of a page by itself: little text, or nothing but links, is worth less."""
    if names is None:
        return 1.0
    thin = THIN_LOSS * max(0.0, 1 - names.words / THIN_WORDS)
    return (1 - thin) * (1 - LINK_LIST_LOSS * names.link_share**2)


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
    content = {one: weight / total for one, weight in weights.items() if weight > 0}
    return _Normal(
        whole=" ".join(one for stems, _ in cut for one in stems),
        content=" ".join(one for stems, weight in cut for one in stems if weight > 0),
        weights=content,
        stems=frozenset(weights),
        touches=re.compile("|".join(map(re.escape, content)) or r"(?!)").search,
    )


def _signals(
    names: PageNames,
    asked: _Normal,
    codes: tuple[frozenset[str], frozenset[str]],
    question_stemmer: str,
    site_named: bool,
) -> tuple[float, ...]:
    title_cover, title_near = _best(names.titles, asked)
    _, heading_near = _best(names.headings, asked)
    _, anchor_near = _best(names.anchors, asked)
    _, slug_near = _match(names.slug, asked) if names.slug else (0.0, 0.0)
    path_cover, path_near = _match(names.path, asked) if names.path else (0.0, 0.0)
    defined, code_defined = (not some.isdisjoint(names.defined) for some in codes)
    return (
        0.0,
        0.0,
        title_cover,
        title_near,
        _is_called(names.titles, asked),
        heading_near,
        _is_called(names.headings, asked),
        anchor_near,
        _is_called(names.anchors, asked),
        max(slug_near, path_near, 0.5 * path_cover),
        _is_called([names.slug], asked),
        float(defined),
        float(code_defined),
        0.0,
        float(site_named),
        1 / (1 + names.words / LONG_WORDS),
        float(names.is_root),
        float(names.stemmer == question_stemmer),
    )


def _is_code(word: str) -> bool:
    return "_" in word or "::" in word or ("." in word and not word[0].isdigit())


def _is_called(names: Sequence[str], asked: _Normal) -> float:
    return float(bool(asked.whole) and (asked.whole in names or asked.content in names))


def _best(names: Sequence[str], asked: _Normal) -> tuple[float, float]:
    """The best cover and the best near match of several names."""
    best_cover = best_near = 0.0
    for name in filter(asked.touches, names):
        cover, near = _match(name, asked)
        if cover > best_cover:
            best_cover = cover
        if near > best_near:
            best_near = near
    return best_cover, best_near


def _match(name: str, asked: _Normal) -> tuple[float, float]:
    words = name.split()
    inside = [word for word in words if word in asked.stems]
    if not inside:
        return 0.0, 0.0
    weights = asked.weights
    cover = sum([weights.get(word, 0.0) for word in set(inside)])
    return cover, cover * len(inside) / len(words)


def rarity(pages: int, pages_with: int) -> float:
    """How much a word says: BM25's inverse document frequency."""
    return math.log(1 + (pages - pages_with + 0.5) / (pages_with + 0.5))

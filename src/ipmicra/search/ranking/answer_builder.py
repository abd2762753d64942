"""A request, an engine and the catalogue -> an answer: the same steps for every engine.

Invariant: reads only. Every content word is required first; if that finds too little, fewer are, and the
answer names the words that were dropped. A word that no page has is corrected if the corrected query
finds pages, and the answer says so. Nothing is dropped in silence.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.search.catalogue.page_catalogue import PageCatalogue, StoredHit
from ipmicra.search.catalogue.page_codec import HEAD_CHARACTERS
from ipmicra.search.keys import site_name_of
from ipmicra.search.query.query_parser import (
    All,
    Not,
    ParsedQuery,
    QueryWords,
    Restriction,
    parse_query,
)
from ipmicra.search.query.relaxation import Form, forms
from ipmicra.search.query.stemmers import stemmer_of
from ipmicra.search.query.stop_words import language_of_query
from ipmicra.search.ranking.page_names import PageNames
from ipmicra.search.ranking.ranking import Ranked, ScoredDocuments, joined, ranked
from ipmicra.search.ranking.signals import (
    AskedWord,
    Column,
    Evidence,
    Matrix,
    scored,
    signal_matrix,
)
from ipmicra.search.ranking.snippets import NOTHING, Excerpted, Marker

CANDIDATES_MIN = 60  # looked at for folding and ranking
CANDIDATES_MAX = 1_000
_CANDIDATES_A_RESULT = 3  # of which one or two may be folded away
LIMIT_MAX = 100
_MASKED_WORDS_MAX = 11  # of a question whose presence and nearness count


class EngineMatches(NamedTuple):
    candidates: ScoredDocuments
    total: int  # pages that match


class QueryEngine(Protocol):
    """The operations that ranking needs from an engine."""

    def find(self, form: Form, depth: int) -> EngineMatches: ...
    def rarity(self, word: QueryWords) -> float: ...
    def is_known(self, word: QueryWords) -> bool: ...
    def present(self, words: Sequence[QueryWords], identities: Sequence[int]) -> dict[int, int]: ...
    def near(self, words: Sequence[QueryWords], identities: Sequence[int]) -> dict[int, int]: ...
    def stems(self, stemmer: str, text: str) -> list[str]: ...
    def better(self, text: str, question: ParsedQuery) -> str: ...


class _Mask(NamedTuple):
    """Of a page, as bits: the first is for the first word."""

    present: int  # words that it has
    near: int  # words that have the next one near


class _Outcome(NamedTuple):
    question: ParsedQuery
    form: Form
    candidates: ScoredDocuments
    total: int
    strict_total: int
    masks: dict[int, _Mask]


def answer(engine: QueryEngine, catalogue: PageCatalogue, request: SearchRequest) -> SearchAnswer:
    start = time.perf_counter()
    limit, offset = min(max(request.limit, 0), LIMIT_MAX), max(request.offset, 0)
    depth = min(max(_CANDIDATES_A_RESULT * (offset + limit), CANDIDATES_MIN), CANDIDATES_MAX)
    outcome, better, is_corrected = _outcome(engine, request.text, depth)
    if request.per_site:
        outcome = _with_other_sites(engine, catalogue, outcome, depth)
    names = catalogue.names(outcome.candidates.identity.tolist())
    candidates = _scored(engine, outcome, names)
    order = ranked(candidates, request.per_site, until=offset + limit)
    remarks, is_partial = list(outcome.question.remarks), outcome.question.is_cut
    if offset + limit > len(order) and outcome.total > depth:
        is_partial = True
        remarks.append(f"only the best {depth} of {outcome.total} pages were looked at")
    hits = _hits(catalogue, order[offset:], outcome)
    return SearchAnswer(
        hits=hits,
        total=outcome.total,
        took_ms=(time.perf_counter() - start) * 1000,
        partial=is_partial,
        remarks=remarks,
        did_you_mean=better,
        corrected=is_corrected,
        without=_without(outcome.form, hits),
    )


def _outcome(engine: QueryEngine, text: str, depth: int) -> tuple[_Outcome, str, bool]:
    """The results for the query as written or, if no page has all its words, as corrected."""
    question = parse_query(text)
    outcome = _tried(engine, question, depth)
    if outcome.strict_total or not question.asked.parts:
        return outcome, "", False
    better = engine.better(text, question)
    if not better:
        return outcome, "", False
    corrected = _tried(engine, parse_query(better), depth)
    if corrected.strict_total or not outcome.total:
        return corrected, better, bool(corrected.total)
    return outcome, better, False


def _tried(engine: QueryEngine, question: ParsedQuery, depth: int) -> _Outcome:
    """The forms of a question one after the other, until enough is found."""
    found: ScoredDocuments | None = None
    total = strict_total = 0
    used = None
    for form in forms(question):
        if used is not None and 2 * form.wanted < len(form.content) and total:
            break  # fewer than half of the words only where nothing else is found
        one = engine.find(form, depth)
        found = one.candidates if found is None else joined(found, one.candidates)
        total, used = max(total, one.total), form
        if form.is_strict:
            strict_total = total
        if total >= form.enough:
            break
    assert used is not None
    assert found is not None
    masks = _masks(engine, used, found.identity.tolist())
    return _Outcome(question, used, found, total, strict_total, masks)


def _masks(engine: QueryEngine, form: Form, identities: list[int]) -> dict[int, _Mask]:
    """Of each candidate. Empty where the question has one word, or nothing was found."""
    words = form.content[:_MASKED_WORDS_MAX]
    if len(words) < 2 or not identities:
        return {}
    near = engine.near(words, identities)
    every = (1 << len(words)) - 1
    present = {} if form.is_strict else engine.present(words, identities)
    missing = every if form.is_strict else 0
    return {one: _Mask(present.get(one, missing), near.get(one, 0)) for one in identities}


def _with_other_sites(
    engine: QueryEngine, catalogue: PageCatalogue, outcome: _Outcome, depth: int
) -> _Outcome:
    """Where one site fills all that is looked at: the best pages of other sites too, so it can be folded."""
    candidates = outcome.candidates
    if outcome.total <= len(candidates.identity) or len(set(candidates.site.tolist())) != 1:
        return outcome
    first = int(candidates.identity[0])
    site = site_name_of(catalogue.shown([first])[first].url)
    asked = All((*outcome.form.asked.parts, Not(Restriction("site", site))))
    others = engine.find(outcome.form._replace(asked=asked), depth).candidates
    return outcome._replace(candidates=joined(candidates, others))


class Explained(NamedTuple):
    """The ranking signals of the candidates of a query."""

    candidates: ScoredDocuments
    names: list[PageNames | None]
    matrix: Matrix  # a row a candidate, a column a signal


def explain(
    engine: QueryEngine, catalogue: PageCatalogue, text: str, depth: int = CANDIDATES_MIN
) -> Explained:
    """The signals behind an answer."""
    outcome, _, _ = _outcome(engine, text, depth)
    return _explained(engine, outcome, catalogue.names(outcome.candidates.identity.tolist()))


def _explained(engine: QueryEngine, outcome: _Outcome, names: Mapping[int, PageNames]) -> Explained:
    candidates = outcome.candidates
    identities = candidates.identity.tolist()
    asked = _asked_words(engine, outcome)
    ordered = [names.get(identity) for identity in identities]
    coverage, together = _presence(engine, outcome, identities)
    language = stemmer_of(language_of_query([word.text for word in asked]))
    evidence = Evidence(candidates.score, coverage, together, ordered)
    return Explained(candidates, ordered, signal_matrix(asked, evidence, engine.stems, language))


def _scored(engine: QueryEngine, outcome: _Outcome, names: Mapping[int, PageNames]) -> ScoredDocuments:
    """Restrictions alone have the engine's order."""
    if not outcome.question.words():
        return outcome.candidates
    seen = _explained(engine, outcome, names)
    return outcome.candidates._replace(score=scored(seen.matrix, seen.names))


def _asked_words(engine: QueryEngine, outcome: _Outcome) -> list[AskedWord]:
    optional = set(outcome.form.optional)
    return [
        AskedWord(text, 0.0 if text in optional else engine.rarity(QueryWords(text)))
        for text in outcome.question.words()
    ]


def _presence(engine: QueryEngine, outcome: _Outcome, identities: list[int]) -> tuple[Column, Column]:
    """Of each candidate the weighted share of words that it has, and of those that stand together."""
    words = outcome.form.content
    if not outcome.masks:
        return np.ones(len(identities)), np.zeros(len(identities))
    weights = np.array([engine.rarity(word) + 0.1 for word in words[:_MASKED_WORDS_MAX]])
    bits = 1 << np.arange(len(weights))
    masks = np.array([outcome.masks.get(identity, (0, 0)) for identity in identities], dtype=np.int64)
    has = (masks[:, :1] & bits) > 0
    near = (masks[:, 1:] & bits[:-1]) > 0
    pairs = np.minimum(weights[:-1], weights[1:])
    return has @ weights / weights.sum(), near @ pairs / max(pairs.sum(), 1e-9)


def _without(form: Form, hits: Sequence[Hit]) -> list[str]:
    """Words that were not demanded: stop words, and those that no page shown has."""
    missing = [
        word.text for word in form.content if hits and all(word.text in hit.missing for hit in hits)
    ]
    return [*form.optional, *missing]


def _hits(catalogue: PageCatalogue, order: list[Ranked], outcome: _Outcome) -> list[Hit]:
    shown = catalogue.shown([result.identity for result in order])
    results = [(result, shown[result.identity]) for result in order if result.identity in shown]
    stops = set(outcome.form.optional)
    words = outcome.question.words()
    marked = [word for word in words if word not in stops] or words
    snippets = Marker(marked).snippets([_excerpted(catalogue, page) for _, page in results])
    return [
        _hit(page, result, snippet, _missing(outcome, result.identity))
        for (result, page), snippet in zip(results, snippets, strict=True)
    ]


def _missing(outcome: _Outcome, identity: int) -> list[str]:
    if identity not in outcome.masks:
        return []
    present = outcome.masks[identity].present
    words = outcome.form.content[:_MASKED_WORDS_MAX]
    return [word.text for bit, word in enumerate(words) if not present & (1 << bit)]


def _excerpted(catalogue: PageCatalogue, page: StoredHit) -> Excerpted:
    if page.facts.robots.nosnippet:
        return NOTHING
    is_whole = len(page.head) < HEAD_CHARACTERS
    rest = None if is_whole else partial(catalogue.rest, page.identity)
    return Excerpted(_without_title(page.head, page.facts.title), page.facts.description, rest)


def _without_title(text: str, title: str) -> str:
    """The text behind its first line, where that only says the title again."""
    first, _, rest = text.partition("\n")
    said = first.rstrip("¶ ").casefold()
    return rest if rest and said and said in title.casefold() else text


def _hit(page: StoredHit, result: Ranked, snippet: str, missing: list[str]) -> Hit:
    facts = page.facts
    return Hit(
        url=page.url,
        site=site_name_of(page.url),
        title=facts.title or page.url,
        snippet=snippet,
        language=facts.language,
        crawler=page.crawler,
        fetched_at_ms=page.fetched_at_ms,
        published_at_s=facts.published_at_s,
        score=result.score,
        alike=result.alike,
        more_from_site=result.more_from_site,
        missing=missing,
    )

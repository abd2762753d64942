"""The tree of a question -> the engine's query.

Law: all words are wanted unless OR stands between them. A page is in the field of its language alone, so a
question is asked once in each language that occurs, all its words in the one field, which costs the engine
one pass through short lists; what knows no language (phrases, restrictions, Chinese characters) stands
beside that once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, assert_never

import tantivy
from tantivy import Occur, Query

from ipmicra.search.query_parser import (
    All,
    Either,
    Not,
    ParsedQuery,
    Part,
    QueryWords,
    Restriction,
    seconds_at,
)
from ipmicra.search.tantivy.schema import BODY_FIELDS, NAMES, analyzer_of, cjk_runs

PHRASE_BOOSTS = {"title": 3.0, "anchors": 2.0, "headings": 1.5, "text": 1.0}
NAMES_BOOST = 3.0
_TIE_BREAKER = 0.3


_WORDS_REMEMBERED = 20_000


class _TermInfo(NamedTuple):
    """What was found out about a text of a question."""

    runs: tuple[str, ...]  # of Chinese, Japanese and Korean characters
    terms: tuple[str, ...]  # all other words
    in_bodies: Mapping[str, Query]  # a single word's query in each language that has it
    lifts: tuple[Query, ...]  # for pages that are called so
    is_ascii: bool  # then whoever is called so has the word itself, not one that differs in accents

    @property
    def is_word(self) -> bool:
        return len(self.terms) == 1

    @property
    def is_plain(self) -> bool:
        return len(self.terms) == 1 and not self.runs


class QueryBuilder:
    """Questions for one state of one index."""

    def __init__(
        self,
        schema: tantivy.Schema,
        analyzers: Mapping[str, tantivy.TextAnalyzer],
        searcher: tantivy.Searcher,
    ) -> None:
        self._schema, self._analyzers, self._searcher = schema, analyzers, searcher
        self._bodies = [name for name in BODY_FIELDS if searcher.terms_with_prefix(name, "", limit=1)]
        self._stemming = [(name, analyzers[analyzer_of(name)].analyze) for name in self._bodies]
        self._looked = lru_cache(_WORDS_REMEMBERED)(self._look)
        self._restrictions: dict[str, Callable[[str], Query]] = {
            "site": lambda value: self._term("site", value.lower().strip(".")),
            "lang": lambda value: self._term("language", value.lower()),
            "near": lambda value: self._term("crawler", value),
            "inurl": lambda value: self._together("address", value),
            "intitle": lambda value: self._together("title", value),
            "after": lambda value: self._dated(lower=seconds_at(value)),
            "before": lambda value: self._dated(upper=seconds_at(value)),
        }

    def query(self, question: ParsedQuery) -> Query:
        parts = question.asked.parts
        looked = [self._looked(part.text) for part in parts if isinstance(part, QueryWords)]
        if looked and len(looked) == len(parts) and all(one.is_plain for one in looked):
            return self._plain(looked)
        return self._any(parts)

    def _plain(self, words: list[_TermInfo]) -> Query:
        """Nothing but words, as most questions are."""
        lifts = [(Occur.Should, lift) for word in words for lift in word.lifts]
        first, *others = (word.in_bodies for word in words)
        if (
            not others and first and words[0].is_ascii
        ):  # who is called so has the word: one union is enough
            return Query.boolean_query([*((Occur.Should, query) for query in first.values()), *lifts])
        inside = [
            _combined([(Occur.Must, query), *((Occur.Must, other[body]) for other in others)])
            for body, query in first.items()
            if all(body in other for other in others)
        ]
        return _combined([(Occur.Must, _either(inside)), *lifts]) if inside else Query.empty_query()

    def _any(self, parts: Sequence[Part]) -> Query:
        clauses = [
            (Occur.MustNot, self._anywhere(part.part))
            if isinstance(part, Not)
            else (Occur.Must, self._of(part, ""))
            for part in parts
            if isinstance(part, Not) or self._bodies_of(part) is None
        ]
        worded = [
            part for part in parts if not isinstance(part, Not) and self._bodies_of(part) is not None
        ]
        if worded:
            clauses.append((Occur.Must, self._anywhere(All(tuple(worded)))))
            clauses += [(Occur.Should, lift) for part in worded for lift in self._lifts(part)]
        return _combined(clauses)

    def _lifts(self, part: Part) -> list[Query]:
        """What makes a page better that is found anyway: that it is called so."""
        if isinstance(part, All | Either):
            return [lift for inner in part.parts for lift in self._lifts(inner)]
        if not isinstance(part, QueryWords):
            return []
        return list(self._looked(part.text).lifts)

    def _anywhere(self, part: Part) -> Query:
        """The part in whichever language."""
        bodies = self._bodies_of(part)
        if bodies is None:
            return self._of(part, "")
        return _either([self._of(part, body) for body in self._bodies if body in bodies])

    def _bodies_of(self, part: Part) -> frozenset[str] | None:
        """The fields in which the part may be found; None where the field does not matter."""
        match part:
            case QueryWords(text=text):
                looked = self._looked(text)
                return frozenset(looked.in_bodies) if looked.is_word else None
            case Not():
                return None
            case All() | Either():
                known = [
                    bodies for inner in part.parts if (bodies := self._bodies_of(inner)) is not None
                ]
                if not known:
                    return None
                joined = frozenset.intersection if isinstance(part, All) else frozenset.union
                return joined(*known)
            case Restriction():
                return None
            case never:
                assert_never(never)

    def _of(self, part: Part, body: str) -> Query:
        match part:
            case QueryWords():
                return self._words(part, body)
            case Restriction():
                return Query.const_score_query(self._restrictions[part.field](part.value), 0.0)
            case Not():
                return _combined([(Occur.MustNot, self._anywhere(part.part))])
            case Either():
                return _either([self._of(inner, body) for inner in part.parts])
            case All():
                return _combined(
                    [
                        (Occur.MustNot, self._anywhere(inner.part))
                        if isinstance(inner, Not)
                        else (Occur.Must, self._of(inner, body))
                        for inner in part.parts
                    ]
                )
            case never:
                assert_never(never)

    def _words(self, part: QueryWords, body: str) -> Query:
        looked = self._looked(part.text)
        if looked.is_plain:
            return looked.in_bodies.get(body) or Query.empty_query()
        clauses = [(Occur.Must, self._characters(run)) for run in looked.runs]
        if looked.is_word:
            clauses.append((Occur.Must, looked.in_bodies.get(body) or Query.empty_query()))
        elif looked.terms:
            clauses.append((Occur.Must, self._phrase(looked.terms)))
        return _combined(clauses)

    def _look(self, text: str) -> _TermInfo:
        runs = tuple(cjk_runs(text))
        terms = tuple(
            term for term in self._analyzers["words"].analyze(text) if not runs or not cjk_runs(term)
        )
        in_bodies = self._in_bodies(text) if len(terms) == 1 else {}
        return _TermInfo(runs, terms, in_bodies, self._called(terms), text.isascii())

    def _called(self, terms: Sequence[str]) -> tuple[Query, ...]:
        return tuple(
            Query.boost_query(self._term(NAMES, term), NAMES_BOOST)
            for term in terms
            if self._searcher.doc_freq(NAMES, term)
        )

    def _in_bodies(self, word: str) -> dict[str, Query]:
        """Asked in every language for every new word: a few calls for each, no more."""
        found, pages_with = {}, self._searcher.doc_freq
        for body, analyze in self._stemming:
            stems = analyze(word)
            if not word.isascii():
                stems = [stem for stem in stems if not cjk_runs(stem)]
            if stems and stems[0] and pages_with(body, stems[0]):
                found[body] = self._term(body, stems[0])
        return found

    def _phrase(self, terms: Sequence[str]) -> Query:
        """`well-known` and "well known" alike: the words in this order, together."""
        fields = [
            Query.boost_query(Query.phrase_query(self._schema, field, list(terms)), boost)
            for field, boost in PHRASE_BOOSTS.items()
        ]
        return Query.disjunction_max_query(fields, _TIE_BREAKER)

    def _characters(self, run: str) -> Query:
        pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        return _combined([(Occur.Must, self._term("cjk", pair)) for pair in dict.fromkeys(pairs)])

    def _together(self, field: str, value: str) -> Query:
        terms = self._analyzers["words"].analyze(value)
        if not terms:
            return Query.empty_query()
        return (
            self._term(field, terms[0])
            if len(terms) == 1
            else Query.phrase_query(self._schema, field, list(terms))
        )

    def _dated(self, lower: int | None = None, upper: int | None = None) -> Query:
        return Query.range_query(
            self._schema,
            "changed_at_s",
            tantivy.FieldType.Integer,
            lower,
            upper,
            include_upper=upper is None,
        )

    def _term(self, field: str, value: str) -> Query:
        return Query.term_query(self._schema, field, value)


def _combined(clauses: list[tuple[Occur, Query]]) -> Query:
    """What must not be stands beside what must; alone, it is taken from all pages."""
    if not clauses:
        return Query.empty_query()
    if all(occur == Occur.MustNot for occur, _ in clauses):
        clauses = [*clauses, (Occur.Must, Query.const_score_query(Query.all_query(), 0.0))]
    elif len(clauses) == 1:
        return clauses[0][1]
    return Query.boolean_query(clauses)


def _either(queries: list[Query]) -> Query:
    if not queries:
        return Query.empty_query()
    if len(queries) == 1:
        return queries[0]
    return Query.boolean_query([(Occur.Should, query) for query in queries])

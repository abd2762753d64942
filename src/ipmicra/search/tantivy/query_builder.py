"""The tree of a parsed query -> the engine's query.

Invariant: all words are required unless OR stands between them. A page has stems of its own language
only, so plain words are searched once in each language that occurs, which costs the engine one pass
through short lists; parts without a language (phrases, restrictions, characters of scripts without
spaces) are searched once beside that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, assert_never

import tantivy
from tantivy import Occur, Query

from ipmicra.search.query.query_parser import (
    All,
    AtLeast,
    Either,
    Not,
    Optional,
    Part,
    QueryWords,
    Restriction,
    seconds_at,
)
from ipmicra.search.query.stemmers import STEMMERS
from ipmicra.search.ranking.signals import rarity
from ipmicra.search.tantivy.schema import BODY, CALLED, NAMES, cjk_runs, stem_term

PHRASE_BOOSTS = {"title": 3.0, "anchors": 2.0, "headings": 1.5, "text": 1.0}
NAMES_BOOST = 3.0
CALLED_BOOSTS = {"t": 12.0, "a": 8.0, "u": 6.0, "d": 6.0, "h": 5.0}  # so that none of them is left out
_TIE_BREAKER = 0.3
_WORDS_REMEMBERED = 20_000
_NEAR_WORDS = 3  # other words that may stand between two that follow each other
_NAME_WORDS_MAX = 12  # of a question that may be a name
_MASK_BITS = 22  # that a score keeps exactly
_NEAR_PAGES_MAX = 1_000  # with the rarer one of two words: all of them are looked at


class _TermInfo(NamedTuple):
    """The facts about a text of a query."""

    runs: tuple[str, ...]  # of characters of scripts without spaces
    terms: tuple[str, ...]  # all other words
    in_bodies: Mapping[str, Query]  # a single word's query in each language that has it
    lifts: tuple[Query, ...]  # for pages that are called so
    is_ascii: bool  # then a page that is called so has the word itself, not one that differs in accents
    pages: int  # that have it, at most

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
        present = [name for name in STEMMERS if searcher.terms_with_prefix(BODY, f"{name}.", limit=1)]
        self._stemming = [(name, analyzers[name].analyze) for name in present]
        self._looked = lru_cache(_WORDS_REMEMBERED)(self._look)
        self.stems = lru_cache(_WORDS_REMEMBERED)(self._stems)
        self._restrictions: dict[str, Callable[[str], Query]] = {
            "site": lambda value: self._term("site", value.lower().strip(".")),
            "lang": lambda value: self._term("language", value.lower()),
            "filetype": lambda value: self._term("filetype", value.lower()),
            "near": lambda value: self._term("crawler", value),
            "inurl": lambda value: self._together("address", value),
            "intitle": lambda value: self._together("title", value),
            "after": lambda value: self._dated(lower=seconds_at(value)),
            "before": lambda value: self._dated(upper=seconds_at(value)),
        }

    def query(self, asked: All, whole: str) -> Query:
        """`whole` is all plain words in their order: what the wanted page may be called."""
        words = [part for part in asked.parts if isinstance(part, QueryWords)]
        optional = [part.part for part in asked.parts if isinstance(part, Optional)]
        lifts = [*self._whole_names(whole, words), *self._optional(optional)]
        looked = [self._looked(part.text) for part in words]
        others = len(asked.parts) - len(words) - len(optional)
        if looked and not others and all(one.is_plain for one in looked):
            return self._plain(looked, lifts)
        return self._any([part for part in asked.parts if not isinstance(part, Optional)], lifts)

    def rarity(self, word: QueryWords) -> float:
        """How much the word says, by how many pages have it."""
        return rarity(
            self._searcher.num_docs, min(self._looked(word.text).pages, self._searcher.num_docs)
        )

    def is_known(self, word: QueryWords) -> bool:
        return self._looked(word.text).pages > 0

    def present(self, words: Sequence[QueryWords], identities: Sequence[int]) -> dict[int, int]:
        """Of each of the pages which of the words it has, as bits."""
        return self._bits([self._anywhere(word) for word in words], self._among(identities))

    def near(self, words: Sequence[QueryWords], identities: Sequence[int]) -> dict[int, int]:
        """Of each of the pages which of the words have the next one near, as bits; none has no entry."""
        pages = [self._looked(word.text).pages for word in words]
        are_few = all(min(pair) <= _NEAR_PAGES_MAX for pair in pairwise(pages))
        among = None if are_few else self._among(identities)  # naming the pages costs more than a few
        return self._bits([self._near(one, other) for one, other in pairwise(words)], among)

    def _bits(self, tests: Sequence[Query], among: Query | None) -> dict[int, int]:
        """The pages that pass a test or several: the engine's score is a sum of powers of two."""
        scored = [
            (Occur.Should, Query.const_score_query(test, float(1 << bit)))
            for bit, test in enumerate(tests[:_MASK_BITS])
        ]
        clauses = [(Occur.Must, Query.boolean_query(scored))]
        if among is not None:
            clauses.append((Occur.Must, among))
        found = self._searcher.search(
            Query.boolean_query(clauses), _NEAR_PAGES_MAX * len(tests), count=False
        )
        hits = found.hits
        pages = self._searcher.fast_field_values("id", [address for _, address in hits])
        return {int(page or 0): int(score) for page, (score, _) in zip(pages, hits, strict=True)}

    def _among(self, identities: Sequence[int]) -> Query:
        """One term each: a set of terms walks the whole dictionary, which costs five times as much."""
        terms = [(Occur.Should, self._identity(identity)) for identity in identities]
        return Query.const_score_query(Query.boolean_query(terms), 0.0)

    def _identity(self, identity: int) -> Query:
        return Query.term_query(self._schema, "id", identity)

    def _near(self, one: QueryWords, other: QueryWords) -> Query:
        terms = (*self._looked(one.text).terms, *self._looked(other.text).terms)
        if len(terms) < 2:
            return Query.empty_query()
        return Query.phrase_query(self._schema, "text", list(terms), slop=_NEAR_WORDS)

    def _optional(self, parts: Sequence[Part]) -> list[Query]:
        """Words that a page need not have."""
        return [query for part in parts for query in self._looked(_text(part)).in_bodies.values()]

    def _whole_names(self, whole: str, words: Sequence[QueryWords]) -> list[Query]:
        """Pages that are called as the whole question."""
        if not whole or len(words) > _NAME_WORDS_MAX:
            return []
        texts = dict.fromkeys([" ".join(word.text for word in words), whole])
        forms = dict.fromkeys(
            " ".join(self.stems(stemmer, text)) for stemmer in self._languages(words) for text in texts
        )
        terms = [(kind, f"{kind}|{form}") for form in forms if form for kind in "tahu"]
        terms += [("d", f"d|{word.text.lower()}") for word in words]
        return [
            Query.const_score_query(self._term(CALLED, term), CALLED_BOOSTS[kind])
            for kind, term in terms
            if self._searcher.doc_freq(CALLED, term)
        ]

    def _languages(self, words: Sequence[QueryWords]) -> list[str]:
        """Those in which a page can have all of the words."""
        known = [looked.in_bodies for word in words if (looked := self._looked(word.text)).is_plain]
        return [name for name, _ in self._stemming if all(name in one for one in known)]

    def _stems(self, stemmer: str, text: str) -> list[str]:
        return self._analyzers[stemmer].analyze(text)

    def _plain(self, words: list[_TermInfo], lifts: list[Query]) -> Query:
        """Nothing but words, as most questions are."""
        lifting = [(Occur.Should, lift) for word in words for lift in word.lifts]
        lifting += [(Occur.Should, lift) for lift in lifts]
        first, *others = (word.in_bodies for word in words)
        inside = [
            _combined([(Occur.Must, query), *((Occur.Must, other[body]) for other in others)])
            for body, query in first.items()
            if all(body in other for other in others)
        ]
        return _combined([(Occur.Must, _either(inside)), *lifting]) if inside else Query.empty_query()

    def _any(self, parts: Sequence[Part], lifts: list[Query]) -> Query:
        clauses = [
            (Occur.MustNot, self._anywhere(part.part))
            if isinstance(part, Not)
            else (Occur.Must, self._anywhere(part))
            for part in parts
        ]
        if not clauses:
            return Query.empty_query()
        clauses += [(Occur.Should, lift) for part in parts for lift in self._lifts(part)]
        if any(occur == Occur.Must for occur, _ in clauses):
            clauses += [(Occur.Should, lift) for lift in lifts]
        return _combined(clauses)

    def _lifts(self, part: Part) -> list[Query]:
        """Boosts of found pages: those whose names match."""
        if isinstance(part, All | Either | AtLeast):
            return [lift for inner in part.parts for lift in self._lifts(inner)]
        if not isinstance(part, QueryWords):
            return []
        return list(self._looked(part.text).lifts)

    def _anywhere(self, part: Part) -> Query:
        """The part in whichever language."""
        match part:
            case QueryWords():
                return self._words(part)
            case Restriction():
                return Query.const_score_query(self._restrictions[part.field](part.value), 0.0)
            case Not():
                return _combined([(Occur.MustNot, self._anywhere(part.part))])
            case Either():
                return _either([self._anywhere(inner) for inner in part.parts])
            case AtLeast():
                several = [(Occur.Should, self._anywhere(inner)) for inner in part.parts]
                return Query.boolean_query(several, minimum_number_should_match=part.least)
            case Optional():
                return Query.const_score_query(Query.all_query(), 0.0)
            case All():
                return _combined(
                    [
                        (Occur.MustNot, self._anywhere(inner.part))
                        if isinstance(inner, Not)
                        else (Occur.Must, self._anywhere(inner))
                        for inner in part.parts
                    ]
                )
            case never:
                assert_never(never)

    def _words(self, part: QueryWords) -> Query:
        looked = self._looked(part.text)
        clauses = [(Occur.Must, self._characters(run)) for run in looked.runs]
        if looked.is_word:
            clauses.append((Occur.Must, _either(list(looked.in_bodies.values()))))
        elif looked.terms:
            clauses.append((Occur.Must, self._phrase(looked.terms, part)))
        return _combined(clauses)

    def _look(self, text: str) -> _TermInfo:
        runs = tuple(cjk_runs(text))
        rest = text
        for run in runs:
            rest = rest.replace(run, " ")
        terms = tuple(self._analyzers["words"].analyze(rest))
        in_bodies: dict[str, Query] = {}
        pages = 0
        if len(terms) == 1:
            in_bodies, pages = self._in_bodies(rest)
        elif terms:
            pages = min(self._searcher.doc_freq("text", term) for term in terms)
        if runs:
            least = min(self._searcher.doc_freq("cjk", pair) for run in runs for pair in _pairs(run))
            pages = min(pages, least) if terms else least
        return _TermInfo(runs, terms, in_bodies, self._called(terms), text.isascii(), pages)

    def _called(self, terms: Sequence[str]) -> tuple[Query, ...]:
        return tuple(
            Query.boost_query(self._term(NAMES, term), NAMES_BOOST)
            for term in terms
            if self._searcher.doc_freq(NAMES, term)
        )

    def _in_bodies(self, word: str) -> tuple[dict[str, Query], int]:
        """Asked in every language for every new word: a few calls for each, no more."""
        found, pages, pages_with = {}, 0, self._searcher.doc_freq
        for stemmer, analyze in self._stemming:
            stems = analyze(word)
            if stems and stems[0]:
                term = stem_term(stemmer, stems[0])
                if count := pages_with(BODY, term):
                    found[stemmer] = self._term(BODY, term)
                    pages += count
        return found, pages

    def _phrase(self, terms: Sequence[str], part: QueryWords) -> Query:
        """`well-known` and "well known" alike: the words in this order, together; `wi-fi` finds wifi too."""
        fields = [
            Query.boost_query(Query.phrase_query(self._schema, field, list(terms)), boost)
            for field, boost in PHRASE_BOOSTS.items()
        ]
        if "-" in part.text and not part.quoted:
            fields.append(self._term("text", "".join(terms)))
        return Query.disjunction_max_query(fields, _TIE_BREAKER)

    def _characters(self, run: str) -> Query:
        return _combined([(Occur.Must, self._term("cjk", pair)) for pair in _pairs(run)])

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


def _pairs(run: str) -> list[str]:
    pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return list(dict.fromkeys(pairs))


def _text(part: Part) -> str:
    return part.text if isinstance(part, QueryWords) else ""


def _combined(clauses: list[tuple[Occur, Query]]) -> Query:
    """Combine excluded parts with required ones; alone, they are excluded from all pages."""
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

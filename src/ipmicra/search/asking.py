"""The tree of a question -> the engine's query.

Law: all words are wanted unless OR stands between them. A word counts more in the title than in links to
the page, more there than in headings, more there than in the text; the field that fits best speaks, the
others add a little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tantivy
from tantivy import Occur, Query

from ipmicra.search.fields import STEM_FIELDS, STEMMED, cjk_runs
from ipmicra.search.question import All, Either, Not, Part, Question, Restriction, Words, seconds_at

BOOSTS = {"title": 3.0, "anchors": 2.0, "headings": 1.5, "text": 1.0}
STEM_BOOST = 0.8
_TIE_BREAKER = 0.3
_DAY_S = 86_400


class Asking:
    """Questions for one index: its schema, its analyzers, the languages that occur in it."""

    def __init__(self, schema: tantivy.Schema, analyzers: Mapping[str, tantivy.TextAnalyzer]) -> None:
        self._schema, self._analyzers = schema, analyzers
        self._restrictions: dict[str, Callable[[str], Query]] = {
            "site": lambda value: self._exactly("site", value.lower().strip(".")),
            "lang": lambda value: self._exactly("language", value.lower()),
            "near": lambda value: self._exactly("crawler", value),
            "inurl": lambda value: self._together("address", value),
            "intitle": lambda value: self._together("title", value),
            "after": lambda value: self._dated(lower=seconds_at(value)),
            "before": lambda value: self._dated(upper=seconds_at(value)),
        }

    def query(self, question: Question) -> Query:
        return self._of(question.asked)

    def _of(self, part: Part) -> Query:
        match part:
            case Words():
                return self._words(part)
            case Restriction():
                return Query.const_score_query(self._restrictions[part.field](part.value), 0.0)
            case Not():
                return Query.boolean_query(
                    [(Occur.Must, Query.all_query()), (Occur.MustNot, self._of(part.part))]
                )
            case Either():
                return Query.boolean_query([(Occur.Should, self._of(inner)) for inner in part.parts])
            case All():
                return self._all(part)

    def _all(self, part: All) -> Query:
        """What must not be stands beside what must: one query, not a set taken from all pages."""
        if not part.parts:
            return Query.empty_query()
        clauses = [
            (Occur.MustNot, self._of(inner.part))
            if isinstance(inner, Not)
            else (Occur.Must, self._of(inner))
            for inner in part.parts
        ]
        if all(isinstance(inner, Not) for inner in part.parts):
            clauses.append((Occur.Must, Query.const_score_query(Query.all_query(), 0.0)))
        return Query.boolean_query(clauses)

    def _words(self, part: Words) -> Query:
        terms = self._analyzers["words"].analyze(part.text)
        clauses = [self._characters(run) for run in cjk_runs(part.text)]
        plain = [term for term in terms if not cjk_runs(term)]
        if len(plain) == 1:
            clauses.append(self._word(plain[0], part.text))
        elif plain:
            clauses.append(self._phrase(plain))
        return _every(clauses)

    def _word(self, term: str, written: str) -> Query:
        fields = [Query.boost_query(self._term(field, term), boost) for field, boost in BOOSTS.items()]
        for name, field in sorted(
            {(STEMMED[language], STEM_FIELDS[language]) for language in STEM_FIELDS}
        ):
            fields += [
                Query.boost_query(self._term(field, stem), STEM_BOOST)
                for stem in self._analyzers[f"stems_{name}"].analyze(written)[:1]
            ]
        return Query.disjunction_max_query(fields, _TIE_BREAKER)

    def _phrase(self, terms: list[str]) -> Query:
        """`well-known` and "well known" alike: the words in this order, together."""
        fields = [
            Query.boost_query(Query.phrase_query(self._schema, field, list(terms)), boost)
            for field, boost in BOOSTS.items()
        ]
        return Query.disjunction_max_query(fields, _TIE_BREAKER)

    def _characters(self, run: str) -> Query:
        pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        return _every([self._term("cjk", pair) for pair in dict.fromkeys(pairs)])

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

    def _exactly(self, field: str, value: str) -> Query:
        return self._term(field, value)

    def _term(self, field: str, value: str) -> Query:
        return Query.term_query(self._schema, field, value)


def _every(clauses: list[Query]) -> Query:
    if not clauses:
        return Query.empty_query()
    return (
        clauses[0]
        if len(clauses) == 1
        else Query.boolean_query([(Occur.Must, clause) for clause in clauses])
    )

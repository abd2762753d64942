"""The tree of a question -> one condition in SQL, and what FTS5 ranks the pages by.

Law: values are bound, never written into a statement. All words are wanted unless OR stands between them; a
word is looked for in each language by its stem there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
from ipmicra.search.tantivy.schema import cjk_runs
from tests.search.second_engine.columns import STEMMED, WHOLE, Analyzers, stem_of

_NOTHING = "0"
_NO_WORD = '""'  # which no page has: nothing ranks
_MATCH = "p.id IN (SELECT rowid FROM words WHERE words MATCH ?)"
_CONDITIONS = {
    "site": "p.id IN (SELECT page FROM names WHERE name = ?)",
    "lang": "p.language = ?",
    "near": "p.crawler = ?",
    "filetype": "instr(p.filetypes, ' ' || ? || ' ')",
    "after": "coalesce(p.changed_at_s >= ?, 0)",
    "before": "coalesce(p.changed_at_s < ?, 0)",
}


class Asked(NamedTuple):
    """`condition` holds for a page `p` that is wanted; it is ranked by `ranked_by`."""

    condition: str
    values: tuple[str | int, ...]
    ranked_by: str


class SecondEngineQuery:
    """Questions of an index that is cut by these analyzers."""

    def __init__(self, analyzers: Analyzers) -> None:
        self._analyzers = analyzers

    def asked(self, wanted: All) -> Asked:
        values: list[str | int] = []
        condition = self._all(wanted, values)
        ranked_by = " OR ".join(dict.fromkeys(self._wanted(wanted))) or _NO_WORD
        return Asked(condition, tuple(values), ranked_by)

    def _of(self, part: Part, values: list[str | int]) -> str:
        match part:
            case All():
                return self._all(part, values)
            case Either():
                return f"({' OR '.join(self._of(inner, values) for inner in part.parts)})"
            case AtLeast():
                counted = " + ".join(f"({self._of(inner, values)})" for inner in part.parts)
                return f"({counted} >= {part.least})"
            case Optional():
                return "1"
            case Not():
                return f"NOT {self._of(part.part, values)}"
            case QueryWords():
                return _matching(self._words(part.text), values)
            case Restriction():
                return self._restricted(part, values)

    def _all(self, part: All, values: list[str | int]) -> str:
        if not part.parts:
            return _NOTHING
        return f"({' AND '.join(self._of(inner, values) for inner in part.parts)})"

    def _restricted(self, part: Restriction, values: list[str | int]) -> str:
        if part.field in ("inurl", "intitle"):
            column = "address" if part.field == "inurl" else WHOLE[0]
            return _matching(_phrase((column,), self._terms(part.value)), values)
        values.append(_value(part))
        return _CONDITIONS[part.field]

    def _wanted(self, part: Part) -> list[str]:
        """What lifts a page: the words that it must or may have."""
        if isinstance(part, QueryWords):
            found = self._words(part.text)
            return [found] if found else []
        if isinstance(part, Optional):
            return self._wanted(part.part)
        if isinstance(part, All | Either | AtLeast):
            return [found for inner in part.parts for found in self._wanted(inner)]
        return []

    def _words(self, text: str) -> str:
        """In FTS5's own language; "" where there is nothing to look for."""
        runs, terms = cjk_runs(text), self._terms(text)
        parts = [_pairs(run) for run in runs]
        if len(terms) == 1:
            parts.append(self._stems(text))
        elif terms:
            parts.append(_phrase(WHOLE, terms))
            if "-" in text:
                joined = _in(WHOLE, f'"{"".join(terms)}"')
                parts[-1] = f"({parts[-1]}) OR ({joined})"
        return " AND ".join(f"({part})" for part in parts if part)

    def _terms(self, text: str) -> list[str]:
        return [term for term in self._analyzers["words"].analyze(text) if not cjk_runs(term)]

    def _stems(self, word: str) -> str:
        stems = dict.fromkeys(stem_of(word, body, self._analyzers) for body in STEMMERS)
        return _in(STEMMED, " OR ".join(f'"{stem}"' for stem in stems if stem))


def _value(part: Restriction) -> str | int:
    if part.field in ("after", "before"):
        return seconds_at(part.value) or 0
    lower = part.value.lower()
    return {"site": lower.strip("."), "lang": lower}.get(part.field, part.value)


def _matching(words: str, values: list[str | int]) -> str:
    if not words:
        return _NOTHING
    values.append(words)
    return _MATCH


def _phrase(columns: Sequence[str], terms: Sequence[str]) -> str:
    return _in(columns, f'"{" ".join(terms)}"') if terms else ""


def _pairs(run: str) -> str:
    pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return _in(("characters",), " AND ".join(f'"{pair}"' for pair in dict.fromkeys(pairs)))


def _in(columns: Sequence[str], words: str) -> str:
    return f"{{{' '.join(columns)}}} : ({words})"

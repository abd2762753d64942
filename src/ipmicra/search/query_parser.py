"""A line of text -> the tree of what is asked for.

    words "a phrase" -without (this OR that) site:example.org -site:old.example.org lang:de
    inurl:docs near:CRAWLER after:2024-01-01 before:2025-06 intitle:word

Law: pure, and every text is a question: what cannot be understood is taken as words, what is too much is
cut with a remark. Depth, number and length of parts are capped here, so no engine has to defend itself.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

TEXT_CHARACTERS_MAX = 1_000
PARTS_MAX = 32
DEPTH_MAX = 5
WORD_CHARACTERS_MAX = 64

FIELDS = ("site", "lang", "inurl", "intitle", "near", "after", "before")
_TOKEN = re.compile(
    r"(?P<without>-)?(?P<paren>[()])"
    r'|(?P<minus>-)?(?:(?P<field>[a-z]+):)?(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s()"]+))'
)
_PLAIN = re.compile(r"[\w\s]*")  # which no token but a word is made of
_NUMBERS = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


class QueryWords(NamedTuple):
    """Text that must occur, in this order and together: one word, or what was quoted."""

    text: str


class Restriction(NamedTuple):
    """`field:value`."""

    field: str
    value: str


class Not(NamedTuple):
    part: Part


class All(NamedTuple):
    parts: tuple[Part, ...]


class Either(NamedTuple):
    parts: tuple[Part, ...]


Part: TypeAlias = QueryWords | Restriction | Not | All | Either


class ParsedQuery(NamedTuple):
    asked: All
    remarks: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """The wanted words, for marking and for spelling."""
        return [word for text in _wanted(self.asked) for word in text.split()]


def parse_query(text: str) -> ParsedQuery:
    """Never fails."""
    return _plain_question(text) or any_question(text)


def _plain_question(text: str) -> ParsedQuery | None:
    """Nothing but a few words, as most questions are."""
    if len(text) > TEXT_CHARACTERS_MAX or not _PLAIN.fullmatch(text):
        return None
    words = text.split()
    if len(words) > PARTS_MAX or "OR" in words or "AND" in words:
        return None
    return ParsedQuery(All(tuple([QueryWords(word) for word in words])))


def any_question(text: str) -> ParsedQuery:
    remarks = []
    if len(text) > TEXT_CHARACTERS_MAX:
        remarks.append(f"only the first {TEXT_CHARACTERS_MAX} characters were used")
    tokens = list(_TOKEN.finditer(text[:TEXT_CHARACTERS_MAX].replace("\0", " ")))
    if len(tokens) > PARTS_MAX:
        remarks.append(f"only the first {PARTS_MAX} parts were used")
    reader = _Reader(tokens[:PARTS_MAX])
    return ParsedQuery(reader.read(depth=0), tuple(remarks))


def seconds_at(value: str) -> int | None:
    """`2024`, `2024-05` or `2024-05-01` -> its first second, in UTC."""
    match = _NUMBERS.fullmatch(value)
    if match is None:
        return None
    try:
        year, month, day = (int(number or 1) for number in match.groups())
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())
    except ValueError:
        return None


class _Reader:
    """Tokens -> the tree, by descent; an unmatched parenthesis is closed or ignored."""

    def __init__(self, tokens: list[re.Match[str]]) -> None:
        self._tokens = tokens
        self._next = 0

    def read(self, depth: int) -> All:
        parts: list[Part] = []
        either = False
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            self._next += 1
            if token["paren"] == ")":
                if depth:
                    break
                continue
            if token["word"] == "OR" and not token["field"]:
                either = bool(parts)
                continue
            if token["word"] == "AND" and not token["field"]:
                continue
            part = self._group(token, depth) if token["paren"] and depth < DEPTH_MAX else _leaf(token)
            if part is None or part == All(()):
                continue
            if either and not isinstance(part, Not):
                parts[-1] = Either((*_choices(parts[-1]), part))
            else:
                parts.append(part)
            either = False
        return All(tuple(parts))

    def _group(self, token: re.Match[str], depth: int) -> Part:
        group = self.read(depth + 1)
        return Not(group) if token["without"] and group.parts else group


def _choices(part: Part) -> tuple[Part, ...]:
    return part.parts if isinstance(part, Either) else (part,)


def _leaf(token: re.Match[str]) -> Part | None:
    field, phrase, word = token["field"], token["phrase"], token["word"]
    value = (phrase if phrase is not None else word or "").strip()
    if field and field not in FIELDS:
        value, field = f"{field}:{value}", None
    if not value:
        return None
    part: Part
    if field in ("after", "before") and seconds_at(value) is None:
        part = QueryWords(value)
    elif field:
        part = Restriction(field, value[: WORD_CHARACTERS_MAX * 4])
    else:
        part = QueryWords(value)
    return Not(part) if token["minus"] else part


def _wanted(part: Part) -> list[str]:
    if isinstance(part, QueryWords):
        return [part.text]
    if isinstance(part, All | Either):
        return [text for inner in part.parts for text in _wanted(inner)]
    return [part.value] if isinstance(part, Restriction) and part.field == "intitle" else []

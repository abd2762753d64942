"""A line of text -> the tree of what is asked for, and remarks on how it was read.

    words "a phrase" -without (this OR that) +wanted site:example.org -site:old.example.org lang:de
    inurl:docs intitle:word filetype:pdf near:CRAWLER after:2024-01-01 before:2025-06

Invariant: pure, and every text is a question. Text that is not understood is searched as words, with a
remark; text beyond a limit is cut, with a remark. Depth, number and length of parts are limited here, so
that no engine has to defend itself. How one chunk of text becomes words is in `query_words`."""

from __future__ import annotations

import re
from typing import NamedTuple, assert_never

from ipmicra.search.query.query_words import (
    FIELDS,
    All,
    AtLeast,
    Either,
    Not,
    Optional,
    Part,
    QueryWords,
    Restriction,
    has_letters,
    is_option,
    normalised,
    parts_of_phrase,
    parts_of_word,
    seconds_at,
)

__all__ = [
    "FIELDS",
    "All",
    "AtLeast",
    "Either",
    "Not",
    "Optional",
    "ParsedQuery",
    "Part",
    "QueryWords",
    "Restriction",
    "parse_any",
    "parse_query",
    "seconds_at",
]  # fmt: skip

TEXT_CHARACTERS_MAX = 1_000
PARTS_MAX = 32
DEPTH_MAX = 5

_TOKEN = re.compile(
    r"(?P<minus>-)?(?P<paren>[()])"
    r'|(?P<sign>[-+])?(?:(?P<field>[A-Za-z]+):)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s()"]+))'
    r'|(?P<bare>[A-Za-z]+:)(?=[()])|"'
)
_PLAIN = re.compile(r"[\w\s]*", re.ASCII)  # contains no token except words
_SITE_APART = re.compile(r"\bsite:\s{1,9}(?=[\w-]{1,63}\.)")
_CONNECTIVES = ("OR", "AND", "NOT")
_NO_WORDS = "the question has no letter or digit to search for"


class ParsedQuery(NamedTuple):
    asked: All
    remarks: tuple[str, ...] = ()
    is_cut: bool = False  # a limit was reached, and the rest of the text was not used

    def words(self) -> list[str]:
        """The wanted words, for marking and for spelling."""
        return [word for text in _wanted(self.asked) for word in text.split()]

    def plain_words(self) -> list[str]:
        """Those that were not quoted: a quoted word is meant as it is written."""
        parts = self.asked.parts
        return [part.text for part in parts if isinstance(part, QueryWords) and not part.quoted]


def parse_query(text: str) -> ParsedQuery:
    """Never fails."""
    return _plain_question(text) or parse_any(text)


def _plain_question(text: str) -> ParsedQuery | None:
    """The short way for nothing but a few words, as most questions are."""
    if len(text) > TEXT_CHARACTERS_MAX or not _PLAIN.fullmatch(text):
        return None
    words = text.split()
    if not words or len(words) > PARTS_MAX or any(word in words for word in _CONNECTIVES):
        return None
    if not all(has_letters(word) and len(word) <= _SHORT for word in words):
        return None
    return ParsedQuery(All(tuple([QueryWords(word) for word in words])))


_SHORT = 40  # longer words take the long way, where they may be cut


def parse_any(text: str) -> ParsedQuery:
    remarks: list[str] = []
    if len(text) > TEXT_CHARACTERS_MAX:
        remarks.append(f"only the first {TEXT_CHARACTERS_MAX} characters were used")
    clean = _SITE_APART.sub("site:", normalised(text[:TEXT_CHARACTERS_MAX]))
    tokens = list(_TOKEN.finditer(clean))
    if len(tokens) > PARTS_MAX:
        remarks.append(f"only the first {PARTS_MAX} parts were used")
    is_cut = bool(remarks)
    reader = _Reader(tokens[:PARTS_MAX], remarks)
    asked = reader.read(depth=0)
    if reader.is_full and not is_cut:
        is_cut = True
        remarks.append(f"only the first {PARTS_MAX} parts were used")
    remarks += [f"pages with {text} were left out" for text in _excluded(asked)]
    if not asked.parts:
        asked = All(tuple(QueryWords(word) for word in clean.split() if word in _CONNECTIVES))
    if not asked.parts and clean.strip():
        remarks.append(_NO_WORDS)
    return ParsedQuery(asked, tuple(dict.fromkeys(remarks)), is_cut)


class _Reader:
    """Tokens -> the tree, by descent; an unmatched parenthesis is closed or ignored."""

    def __init__(self, tokens: list[re.Match[str]], remarks: list[str]) -> None:
        self._tokens = tokens
        self._remarks = remarks
        self._next = 0
        self._left = PARTS_MAX

    @property
    def is_full(self) -> bool:
        return self._left < 0

    def read(self, depth: int) -> All:
        parts: list[Part] = []
        joined = ""  # the connective before the next part
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            self._next += 1
            if token["paren"] == ")":
                if depth:
                    break
                continue
            if token["word"] in ("OR", "AND") and not token["field"] and not token["sign"]:
                joined = token["word"] if parts else ""
                continue
            for part in self._parts(token, depth):
                self._left -= 1
                if self._left >= 0:
                    _append(parts, part, joined)
                joined = ""
        return All(tuple(parts))

    def _parts(self, token: re.Match[str], depth: int) -> list[Part]:
        if token["paren"]:
            return self._group(token, depth) if depth < DEPTH_MAX else []
        if token["bare"]:
            return parts_of_word(token["bare"])
        if token["phrase"] is None and token["word"] is None:
            self._remarks.append("a quotation mark that is not closed was ignored")
            return []
        if token["sign"] == "-" and not token["field"] and self._follows_command(token):
            word = token["word"].lstrip("-")
            self._remarks.append(
                f'-{token["word"]} was searched as a word, as a command has it; -"{word}" leaves it out'
            )
            return parts_of_word(token["word"])
        if token["word"] == "NOT":
            self._remarks.append("NOT was searched as a word; -word leaves out pages that have a word")
        found = self._leaf(token)
        if token["sign"] == "-":
            return [Not(found[0] if len(found) == 1 else All(tuple(found)))] if found else []
        if token["sign"] == "+":
            return [
                part._replace(required=True) if isinstance(part, QueryWords) else part for part in found
            ]
        return found

    def _follows_command(self, token: re.Match[str]) -> bool:
        if not token["word"] or not has_letters(token["word"]):
            return False
        before = [
            one["word"]
            for one in self._tokens[: self._next - 1]
            if one["sign"] != "-" and (one["word"] is None or has_letters(one["word"]))
        ]  # without the options and dots between: tar -x -z -f, find . -name
        return is_option(token["word"], before[-1] if before else None)

    def _group(self, token: re.Match[str], depth: int) -> list[Part]:
        group = self.read(depth + 1)
        if not group.parts:
            return []
        if token["minus"]:
            return [Not(group)]
        is_plain = all(isinstance(part, QueryWords) and not part.quoted for part in group.parts)
        return list(group.parts) if is_plain and self._is_alone(token) else [group]

    def _is_alone(self, token: re.Match[str]) -> bool:
        """No OR beside the parentheses, so they change nothing."""
        at = self._tokens.index(token)
        neighbours = [*self._tokens[max(0, at - 1) : at], *self._tokens[self._next : self._next + 1]]
        return all(one["word"] not in ("OR", "AND") for one in neighbours)

    def _leaf(self, token: re.Match[str]) -> list[Part]:
        field = (token["field"] or "").lower()
        if token["phrase"] is not None:
            return parts_of_phrase(field, token["phrase"], self._remarks)
        word = f"{token['field']}:{token['word']}" if token["field"] else token["word"]
        if field == "site" and not has_letters(token["word"]):
            return []
        return parts_of_word(word, self._remarks)


def _append(parts: list[Part], part: Part, joined: str) -> None:
    if not joined or isinstance(part, Not):
        parts.append(part)
    elif joined == "OR":
        parts[-1] = Either((*_choices(parts[-1]), part))
    else:
        parts[-1] = _required(parts[-1])
        parts.append(_required(part))


def _required(part: Part) -> Part:
    return part._replace(required=True) if isinstance(part, QueryWords) else part


def _choices(part: Part) -> tuple[Part, ...]:
    return part.parts if isinstance(part, Either) else (part,)


def _excluded(asked: All) -> list[str]:
    """Plain words and phrases that pages must not have, for people to read."""
    inner = [part.part for part in asked.parts if isinstance(part, Not)]
    return [f'"{part.text}"' for part in inner if isinstance(part, QueryWords)]


def _wanted(part: Part) -> list[str]:
    match part:
        case QueryWords(text=text):
            return [text]
        case All(parts=parts) | Either(parts=parts) | AtLeast(parts=parts):
            return [text for inner in parts for text in _wanted(inner)]
        case Optional(part=inner):
            return _wanted(inner)
        case Restriction(field=field, value=value):
            return [value] if field == "intitle" else []
        case Not():
            return []
        case never:
            assert_never(never)

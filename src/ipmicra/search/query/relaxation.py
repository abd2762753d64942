"""A question -> a series of stricter and laxer forms of it, to be tried in this order.

Invariant: pure. Only plain words are ever given up; phrases, groups, exclusions, restrictions, and words
marked by `+` or AND stay in every form. The first form wants every content word; each next one fewer of
them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ipmicra.search.query.query_parser import ParsedQuery
from ipmicra.search.query.query_words import All, AtLeast, Optional, Part, QueryWords
from ipmicra.search.query.stop_words import stop_words_in

ENOUGH_OF_FEW = 5  # pages that have all words of a short question
ENOUGH_OF_MANY = 30  # of a longer one: pages that have all of its words by chance are the longest pages
_MANY_WORDS = 4
_PIECES = re.compile(r"[^\s!-/:-@\[-`{-~]+")  # apart by signs of ASCII; marks of a letter stay with it
_STEPS_MAX = 5  # forms of one question after the first


class Form(NamedTuple):
    """One form of a question."""

    asked: All
    wanted: int  # content words that a page must have at least
    content: tuple[QueryWords, ...]  # the words that may be given up
    optional: tuple[str, ...]  # stop words, as written
    whole: str  # all plain words, in their order
    is_strict: bool = False  # the first form: everything is wanted, as it was written

    @property
    def enough(self) -> int:
        """The number of pages at which the next form is not tried."""
        return ENOUGH_OF_MANY if len(self.content) >= _MANY_WORDS else ENOUGH_OF_FEW


def forms(question: ParsedQuery) -> Iterator[Form]:
    parts = question.asked.parts
    plain, whole = _plain(parts), _plain_text(parts)
    others = [part for part in parts if part not in plain]
    stops = stop_words_in([word.text for word in plain])
    content = tuple(dict.fromkeys(word for word in plain if word.text not in stops))
    left = tuple(dict.fromkeys(word.text for word in plain if word.text in stops))
    optional = [Optional(QueryWords(text)) for text in left]
    yield Form(All((*others, *content, *optional)), len(content), content, left, whole, True)
    apart = tuple(dict.fromkeys(piece for word in content for piece in _pieces(word)))
    for count in _counts(len(apart), apart != content):
        least = AtLeast(count, apart)
        yield Form(All((*others, least, *optional)), count, apart, left, whole)


def _plain(parts: tuple[Part, ...]) -> tuple[QueryWords, ...]:
    return tuple(
        part for part in parts if isinstance(part, QueryWords) and not part.quoted and not part.required
    )


def _plain_text(parts: tuple[Part, ...]) -> str:
    return " ".join(part.text for part in parts if isinstance(part, QueryWords))


def _pieces(word: QueryWords) -> list[QueryWords]:
    """`os.path.join` -> its three words."""
    return [QueryWords(piece) for piece in _PIECES.findall(word.text)] or [word]


def _counts(words: int, with_all: bool) -> list[int]:
    """How many of the words the laxer forms want: one fewer each, in larger steps for long questions."""
    if words < 2:
        return []
    step = max(1, -(-(words - 1) // _STEPS_MAX))
    return [*([words] if with_all else []), *range(words - 1, 1, -step), 1]

"""Texts of pages and the words of a query -> for each a short excerpt around the best place, with marks.

Invariant: pure; everything is escaped but the `<mark>` put here. A text of any length costs one pass.

Work is done once for all texts of an answer where possible: they are short, and the set-up costs most.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import NamedTuple

SNIPPET_CHARACTERS = 240
_BEFORE_CHARACTERS = 40  # shown before the first word
_WITHIN = SNIPPET_CHARACTERS - _BEFORE_CHARACTERS
_LOOKED_AT_MAX = 8  # of which some are the middle of another word
_ENDING_CHARACTERS_MAX = 4  # by which a form of a word may be longer than what was looked for
_CUT = "…"
_BEGIN, _END, _NEXT = "\x02", "\x03", "\x04"  # stand for the marks until everything is escaped
_FORBIDDEN = str.maketrans(dict.fromkeys(_BEGIN + _END + _NEXT, " "))


class Excerpted(NamedTuple):
    """The source of a snippet."""

    head: str  # the beginning of the text
    otherwise: str = ""  # a description, where no word occurs in the text
    rest: Callable[[], str] | None = None  # fetches what follows the head, if anything does


NOTHING = Excerpted("")  # of which nothing is shown


class _Stem(NamedTuple):
    """The common beginning of a word and its other forms: `crawl` marks `crawler` too."""

    letters: str
    ways: tuple[str, ...]  # in which it is written
    is_cjk: bool  # then it need not begin where a word begins


class Marker:
    """Marks the words of one question in any number of texts."""

    def __init__(self, words: Sequence[str]) -> None:
        self._stems = _stems(words)

    def snippet(self, text: str, otherwise: str = "") -> str:
        """`otherwise` (a description) is shown where no word occurs in the text."""
        return self.snippets([Excerpted(text, otherwise)])[0]

    def snippets(self, texts: Sequence[Excerpted]) -> list[str]:
        return self._marked([self._excerpt(text) for text in texts]) if texts else []

    def marked(self, text: str) -> str:
        """The whole text, escaped and marked."""
        return self._marked([text])[0]

    def _excerpt(self, page: Excerpted) -> str:
        """Unmarked. From the head; from the rest where only that has the words."""
        text = page.head
        start = self._start(text)
        if start < 0 and page.rest is not None:
            text = page.rest()
            start = self._start(text)
        if start < 0:
            return _shortened(page.otherwise or text[:SNIPPET_CHARACTERS])
        return _window(text, start)

    def _start(self, text: str) -> int:
        """Where the best place begins; -1 where no word occurs.

        Mostly the first places of all words are close to each other. Where they are not, the best
        company that one of them has is shown.
        """
        firsts = self._firsts(text)
        if not firsts:
            return -1
        start, most = firsts[0], _company(firsts)
        if most == len(self._stems):
            return start
        for at in firsts[1:]:
            begin = max(0, at - _WITHIN)
            near = self._firsts(text[begin : at + _WITHIN])
            if near and _company(near) > most:
                start, most = begin + near[0], _company(near)
        return start

    def _firsts(self, text: str) -> list[int]:
        """Where words first begin with each stem; searching for plain strings is C's work.

        Lowering a whole text costs more than looking for a word as it is usually written: small, and
        where that does not occur in other ways.
        """
        firsts = [at for stem in self._stems if (at := _first(text, stem)) >= 0]
        if not firsts:
            lower = _lower(text)
            firsts = [at for stem in self._stems if (at := _first(lower, stem)) >= 0]
        firsts.sort()
        return firsts

    def _marked(self, texts: list[str]) -> list[str]:
        """All in one."""
        texts = [_without_marks(text) for text in texts]
        text, lower = _NEXT.join(texts), _NEXT.join([_lower(text) for text in texts])
        pieces, at = [], 0
        for begin, end in self._spans(lower):
            if begin >= at:
                pieces += [text[at:begin], _BEGIN, text[begin:end], _END]
                at = end
        pieces.append(text[at:])
        escaped = html.escape("".join(pieces))
        return escaped.replace(_BEGIN, "<mark>").replace(_END, "</mark>").split(_NEXT)

    def _spans(self, lower: str) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        for letters, _, is_cjk in self._stems:
            at = lower.find(letters)
            while at >= 0:
                after = at + len(letters)
                if is_cjk:
                    spans.append((at, after))
                elif end := _end_of_word(lower, at, after):
                    spans.append((at, end))
                at = lower.find(letters, after)
        return sorted(spans)


def _first(text: str, stem: _Stem) -> int:
    for way in stem.ways:
        at, left = text.find(way), _LOOKED_AT_MAX
        while at > 0 and left and not stem.is_cjk and text[at - 1].isalnum():
            at, left = text.find(way, at + 1), left - 1
        if at >= 0 and left:
            return at
    return -1


def _company(places: list[int]) -> int:
    """How many of them a window shows that begins at the first."""
    until = places[0] + _WITHIN
    return sum([at < until for at in places])


def _end_of_word(lower: str, begin: int, after: int) -> int:
    """Where the word ends that begins like a stem does; 0 where it is another word."""
    if begin and lower[begin - 1].isalnum():
        return 0
    end, last = after, min(after + _ENDING_CHARACTERS_MAX + 1, len(lower))
    while end < last and lower[end].isalnum():
        end += 1
    return end if end - after <= _ENDING_CHARACTERS_MAX else 0


def _stems(words: Sequence[str]) -> list[_Stem]:
    cleaned = dict.fromkeys(word.strip("\"'()*.,;:!?").lower() for word in words)
    cut = dict.fromkeys(word[: max(3, len(word) - 2)] if len(word) > 4 else word for word in cleaned)
    return [_stem(letters) for letters in cut if letters]


def _stem(letters: str) -> _Stem:
    if max(letters) > "\u2e7f":
        return _Stem(letters, (letters,), is_cjk=True)
    return _Stem(letters, (letters, letters.capitalize(), letters.upper()), is_cjk=False)


def _without_marks(text: str) -> str:
    return text.translate(_FORBIDDEN) if _BEGIN in text or _END in text or _NEXT in text else text


def _lower(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else text  # a few letters grow in lower case


def _window(text: str, start: int) -> str:
    begin = max(0, start - _BEFORE_CHARACTERS)
    if begin:
        space = text.find(" ", begin, start)
        begin = space + 1 if space >= 0 else begin
    end = min(len(text), begin + SNIPPET_CHARACTERS)
    if end < len(text):
        space = text.rfind(" ", start + 20, end)
        end = space if space > 0 else end
    return (
        (_CUT if begin else "")
        + text[begin:end].replace("¶", "").replace("\n", " ")
        + (_CUT if end < len(text) else "")
    )


def _shortened(text: str) -> str:
    folded = " ".join(text[: SNIPPET_CHARACTERS * 4].split())
    return folded if len(folded) <= SNIPPET_CHARACTERS else folded[:SNIPPET_CHARACTERS] + _CUT

"""A page's text and the words of a question -> a few words around the best place, marked.

Law: pure; everything is escaped but the `<mark>` put here. A text of any length costs one pass.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

SNIPPET_CHARACTERS = 240
_PLACES_OF_A_WORD = 4  # of which the one in the best company is shown
_LOOKED_AT_MAX = 8  # of which some are the middle of another word
_ENDING_CHARACTERS_MAX = 4  # by which a form of a word may be longer than what was looked for
_CUT = "…"
_BEGIN, _END = "\x02", "\x03"  # stand for the marks until everything is escaped
_FORBIDDEN = str.maketrans(dict.fromkeys(_BEGIN + _END, " "))


class Marker:
    """Marks the words of one question in any number of texts."""

    def __init__(self, words: Sequence[str]) -> None:
        self._stems = _stems(words)
        self._ways = [(stem, _ways(stem)) for stem in self._stems]
        self._places_max = _PLACES_OF_A_WORD if len(self._stems) > 1 else 1  # no company to look for

    def snippet(self, text: str, otherwise: str = "") -> str:
        """`otherwise` (a description) is shown where no word occurs in the text."""
        places = self._places(text)
        if not places:
            return self._marked(_shortened(otherwise or text[:SNIPPET_CHARACTERS]))
        return self._marked(_window(text, _best_start(places)))

    def occurs_in(self, text: str) -> bool:
        return bool(self._places(text))

    def _places(self, text: str) -> list[tuple[int, str]]:
        """Where words begin with a stem; searching for plain strings is C's work.

        Lowering a whole text costs more than looking for a word as it is usually written: small, and
        where that does not occur in other ways.
        """
        most, places = self._places_max, []
        for stem, ways in self._ways:
            for way in ways:
                if found := _found(text, way, stem, most):
                    places += found
                    break
        if not places:
            lower = _lower(text)
            places = [place for stem in self._stems for place in _found(lower, stem, stem, most)]
        places.sort()
        return places

    def _marked(self, text: str) -> str:
        text = text.translate(_FORBIDDEN) if _BEGIN in text or _END in text else text
        pieces, at = [], 0
        for begin, end in self._spans(text):
            if begin >= at:
                pieces += [text[at:begin], _BEGIN, text[begin:end], _END]
                at = end
        escaped = html.escape("".join([*pieces, text[at:]]))
        return escaped.replace(_BEGIN, "<mark>").replace(_END, "</mark>") if pieces else escaped

    def _spans(self, text: str) -> list[tuple[int, int]]:
        lower = _lower(text)
        spans: list[tuple[int, int]] = []
        for stem in self._stems:
            at = lower.find(stem)
            while at >= 0:
                end = _end_of_word(lower, at, stem)
                if end:
                    spans.append((at, end))
                at = lower.find(stem, at + len(stem))
        return sorted(spans)


def _ways(stem: str) -> tuple[str, ...]:
    return (stem,) if _is_cjk(stem) else (stem, stem.capitalize(), stem.upper())


def _found(text: str, way: str, stem: str, most: int) -> list[tuple[int, str]]:
    places: list[tuple[int, str]] = []
    at, left = text.find(way), _LOOKED_AT_MAX
    while at >= 0 and left and len(places) < most:
        if not at or not text[at - 1].isalnum() or _is_cjk(stem):
            places.append((at, stem))
        at, left = text.find(way, at + 1), left - 1
    return places


def _end_of_word(lower: str, at: int, stem: str) -> int:
    """Where the form of `stem` at `at` ends; 0 where it is another word."""
    end = at + len(stem)
    if _is_cjk(stem):
        return end
    if at and lower[at - 1].isalnum():
        return 0
    last = min(end + _ENDING_CHARACTERS_MAX + 1, len(lower))
    while end < last and lower[end].isalnum():
        end += 1
    return end if end - at - len(stem) <= _ENDING_CHARACTERS_MAX else 0


def _stems(words: Sequence[str]) -> list[str]:
    """What a word and its other forms begin with: `crawl` marks `crawler` too."""
    cleaned = dict.fromkeys(word.strip("\"'()*.,;:!?").lower() for word in words)
    return [word[: max(3, len(word) - 2)] if len(word) > 4 else word for word in cleaned if word]


def _is_cjk(word: str) -> bool:
    return max(word) > "\u2e7f"


def _lower(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else text  # a few letters grow in lower case


def _best_start(places: list[tuple[int, str]]) -> int:
    """Where a window holds the most different words; the first such."""
    words = len({word for _, word in places})
    best, best_start = 1, places[0][0]
    for number, (start, _) in enumerate(places):
        if best == words:
            break
        until = start + SNIPPET_CHARACTERS - 40
        within = len({word for at, word in places[number : number + 12] if at < until})
        if within > best:
            best, best_start = within, start
    return best_start


def _window(text: str, start: int) -> str:
    begin = max(0, start - 40)
    if begin:
        space = text.find(" ", begin, start)
        begin = space + 1 if space >= 0 else begin
    end = min(len(text), begin + SNIPPET_CHARACTERS)
    if end < len(text):
        space = text.rfind(" ", start + 20, end)
        end = space if space > 0 else end
    return (
        (_CUT if begin else "") + text[begin:end].replace("\n", " ") + (_CUT if end < len(text) else "")
    )


def _shortened(text: str) -> str:
    folded = " ".join(text[: SNIPPET_CHARACTERS * 4].split())
    return folded if len(folded) <= SNIPPET_CHARACTERS else folded[:SNIPPET_CHARACTERS] + _CUT

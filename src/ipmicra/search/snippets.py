"""A page's text and the words of a question -> a few words around the best place, marked.

Law: pure; everything is escaped but the `<mark>` put here. A text of any length costs one pass.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

SNIPPET_CHARACTERS = 240
_PLACES_OF_A_WORD = 40
_CUT = "…"


def snippet(text: str, words: Sequence[str], otherwise: str = "") -> str:
    """`otherwise` (a description) is shown where no word occurs in the text."""
    stems = _stems(words)
    wanted = _pattern(stems)
    places = _places(text, stems)
    if not places:
        return _marked(_shortened(otherwise or text[:SNIPPET_CHARACTERS]), wanted)
    return _marked(_window(text, _best_start(places)), wanted)


def _stems(words: Sequence[str]) -> list[str]:
    """What a word and its other forms begin with: `crawl` marks `crawler` too."""
    cleaned = dict.fromkeys(word.strip("\"'()*.,;:!?").lower() for word in words)
    return [word[: max(3, len(word) - 2)] if len(word) > 4 else word for word in cleaned if word]


def _pattern(stems: Sequence[str]) -> re.Pattern[str] | None:
    if not stems:
        return None
    choices = [
        re.escape(stem) if _is_cjk(stem) else rf"(?<!\w){re.escape(stem)}\w{{0,4}}(?!\w)"
        for stem in sorted(stems, key=len, reverse=True)
    ]
    return re.compile("|".join(choices), re.IGNORECASE)


def _is_cjk(word: str) -> bool:
    return max(word) > "\u2e7f"


def _places(text: str, stems: Sequence[str]) -> list[tuple[int, str]]:
    """Where words begin with a stem; searching for plain strings is C's work."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters grow in lower case
        lower = text
    places: list[tuple[int, str]] = []
    for stem in stems:
        at = lower.find(stem)
        for _ in range(_PLACES_OF_A_WORD):
            if at < 0:
                break
            if not at or not lower[at - 1].isalnum() or _is_cjk(stem):
                places.append((at, stem))
            at = lower.find(stem, at + 1)
    return sorted(places)


def _best_start(places: list[tuple[int, str]]) -> int:
    """Where a window holds the most different words, then the most of them; the first such."""
    best, best_start = (0, 0), places[0][0]
    for number, (start, _) in enumerate(places):
        within = [
            word for at, word in places[number : number + 12] if at < start + SNIPPET_CHARACTERS - 40
        ]
        if (len(set(within)), len(within)) > best:
            best, best_start = (len(set(within)), len(within)), start
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


def _marked(text: str, wanted: re.Pattern[str] | None) -> str:
    if wanted is None:
        return html.escape(text)
    pieces, at = [], 0
    for match in wanted.finditer(text):
        pieces += [html.escape(text[at : match.start()]), "<mark>", html.escape(match[0]), "</mark>"]
        at = match.end()
    return "".join([*pieces, html.escape(text[at:])])

"""A page's text and the words of a question -> a few words around the best place, marked.

Law: pure; everything is escaped but the `<mark>` put here. A text of any length costs one pass.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

SNIPPET_CHARACTERS = 240
_PLACES_MAX = 400
_CUT = "…"


def snippet(text: str, words: Sequence[str], otherwise: str = "") -> str:
    """`otherwise` (a description) is shown where no word occurs in the text."""
    wanted = _pattern(words)
    places = [] if wanted is None else _places(wanted, text)
    if not places:
        source = otherwise or text[:SNIPPET_CHARACTERS]
        return _marked(_shortened(source), wanted)
    start = _best_start(places)
    return _marked(_window(text, start), wanted)


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Each word and what grows from its stem: `crawl` marks `crawler` too."""
    cleaned = {word.strip("\"'()*.,;:!?").lower() for word in words}
    stems = [
        re.escape(word[: max(3, len(word) - 2)] if len(word) > 4 else word) for word in cleaned if word
    ]
    if not stems:
        return None
    stems.sort(key=len, reverse=True)
    return re.compile(
        rf"(?<!\w)(?:{'|'.join(stems)})\w{{0,4}}(?!\w)|{'|'.join(_cjk(cleaned)) or '(?!)'}",
        re.IGNORECASE,
    )


def _cjk(words: set[str]) -> list[str]:
    return [re.escape(word) for word in sorted(words) if word and ord(max(word)) > 0x2E80]


def _places(wanted: re.Pattern[str], text: str) -> list[tuple[int, str]]:
    places = []
    for match in wanted.finditer(text):
        places.append((match.start(), match[0].lower()[:4]))
        if len(places) >= _PLACES_MAX:
            break
    return places


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

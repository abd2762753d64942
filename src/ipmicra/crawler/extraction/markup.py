"""HTML -> what can be read off its markup: its head, its links, its headings, its visible text.

The rule of what is worth indexing, which every reader keeps: all text that a visitor sees, a line a
block, except what the markup itself declares to be something else: navigation (`nav`, role navigation),
a page's footer (one that belongs to no article, section or main), controls (`button`, `select`,
`textarea`), embedded things (`iframe`, `object`, `svg`, `noscript`, `template`), and what is hidden by
an attribute. Links in those parts are links anyway.

There are two readers. The compiled one (`native/markup`) reads a page in one pass without a tree, in a
fourth of the time; where it is not installed, or fails, `tree_reading` does the same with a tree.
`READERS` are those at hand, the best first; tests hold all of them to one contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ipmicra.crawler.extraction import compiled_markup, markup_tree


class MarkupContents(NamedTuple):
    """As written; "" where the markup is silent. Texts are folded: one space between words."""

    title: str
    language: str
    base: str
    canonical: str
    first_time: str  # datetime of the first `time` element
    metas: list[tuple[str, str]]  # name (or property, itemprop, http-equiv) and content, in order
    dated_scripts: list[str]  # texts of the scripts that name a date
    links: list[tuple[str, str, str]]  # url, text, rel
    unjoined: list[int]  # positions of links whose url is an href as written, without fragment
    headings: list[str]  # h1 first, then h2 ...
    text: str


MarkupReader = Callable[
    [bytes, str], tuple[object, ...]
]  # UTF-8 and the folder of plain hrefs -> Reading's fields

READERS: dict[str, MarkupReader] = {"tree": markup_tree.read}
if compiled_markup.read is not None:
    READERS = {"compiled": compiled_markup.read, **READERS}
_BEST = next(iter(READERS.values()))


def read(html: bytes, folder: str, reader: MarkupReader = _BEST) -> MarkupContents:
    """Parse the markup. `folder`, to which plain hrefs may be joined, ends with a slash."""
    try:
        return MarkupContents._make(reader(html, folder))
    except RuntimeError:
        return MarkupContents._make(markup_tree.read(html, folder))

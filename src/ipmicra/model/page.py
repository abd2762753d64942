"""One response -> the page that extraction made of it, as it is delivered and indexed.

Invariant: plain data. Times are whole seconds since 1970 in UTC; None means that the page does not say. The
fields of `Page` are stored in their order: a new one is the last and has a default. `PAGE_FIELDS` has them
all.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

import msgspec


class Link(NamedTuple):
    """One outlink: absolute, without fragment. Of several to an address the first that has a text wins."""

    url: str
    text: str  # the anchor text, white space folded; an image's alt where there is no text
    rel: str  # "nofollow ugc", lower case, as written; "" for most


def rel_of_both(first: str, second: str) -> str:
    """Join the rel of two links to one URL: nofollow holds only if both links have it."""
    forbids, allows = "nofollow" in first.split(), "nofollow" not in second.split()
    return second if forbids and allows else first


class RobotsDirectives(NamedTuple):
    """The directives of meta robots and X-Robots-Tag; the stricter of the two applies."""

    noindex: bool = False  # keep the page out of the index
    nofollow: bool = False  # follow no link of the page
    nosnippet: bool = False  # show no text of the page in answers


class Page(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One page as a search engine sees it."""

    url: str
    canonical: str = ""  # what the page says its address is; "" where it says nothing or itself
    title: str = ""
    description: str = ""
    language: str = ""  # "en", "zh": primary subtag, lower case; "" unknown
    text: str = ""  # visible text, one line per block, without declared navigation
    headings: list[str] = []
    links: list[Link] = []
    published_at_s: int | None = None
    modified_at_s: int | None = None
    content_hash: bytes = b""  # 16 bytes over all that a searcher could notice
    robots: RobotsDirectives = RobotsDirectives()
    media_type: str = "text/html"
    charset: str = ""
    body_bytes: int = 0  # of the response, inflated
    truncated: bool = False  # a cap was reached; the rest of the page was left unread

    @property
    def similarity_hash(self) -> int:
        """64 bits, of which near-duplicates differ in few; 0 where the text is too short.

        Computed on demand and not delivered: it follows from the text. A crawler that never needs it does
        not load numpy, which would be a sixth of its memory.
        """
        try:
            from ipmicra.model.similarity import similarity_hash
        except ModuleNotFoundError:  # numpy: not part of a plain installation on a host
            from ipmicra.model.plain_similarity import similarity_hash

        return similarity_hash(self.text)


class Travel(Enum):
    """How a field of a page travels in a package."""

    ADDRESS = auto()  # a position among the addresses of the package
    WORDS = auto()  # stored with the page's text, which has its own layout
    NAME = (
        auto()
    )  # one of few strings: `language` has its values in `languages`, positions in `page_languages`
    COLUMN = auto()  # as it is, in the column of the same name
    FLAG = auto()  # bits of the column `flags`
    COMPUTED = auto()  # not at all: the receiver computes it


PAGE_FIELDS = {
    "url": Travel.ADDRESS,
    "canonical": Travel.ADDRESS,
    "title": Travel.WORDS,
    "description": Travel.WORDS,
    "language": Travel.NAME,
    "text": Travel.WORDS,
    "headings": Travel.WORDS,
    "links": Travel.WORDS,
    "published_at_s": Travel.COLUMN,
    "modified_at_s": Travel.COLUMN,
    "content_hash": Travel.COMPUTED,
    "robots": Travel.FLAG,
    "media_type": Travel.NAME,
    "charset": Travel.NAME,
    "body_bytes": Travel.COLUMN,
    "truncated": Travel.FLAG,
}


def fields_by(*travels: Travel) -> tuple[str, ...]:
    """The names of the fields of a page that travel in one of these ways, in the order of `Page`."""
    return tuple(name for name, travel in PAGE_FIELDS.items() if travel in travels)

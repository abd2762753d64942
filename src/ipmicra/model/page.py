"""What extraction found in one response: the shape that travels home and into the index.

Invariant: plain data. Times are whole seconds since 1970 in UTC; None means that the page does not say.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Link(NamedTuple):
    """One outlink: absolute, without fragment. Of several to an address the first that has a text wins."""

    url: str
    text: str  # the anchor text, white space folded; an image's alt where there is no text
    rel: str  # "nofollow ugc", lower case, as written; "" for most


def rel_of_both(first: str, second: str) -> str:
    """The rel of two links to one address: who says nofollow forbids it only if the other does too."""
    forbids, allows = "nofollow" in first.split(), "nofollow" not in second.split()
    return second if forbids and allows else first


class RobotsDirectives(NamedTuple):
    """What meta robots and X-Robots-Tag ask of us, the stricter of the two winning."""

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
    text: str = ""  # visible text, a line a block, without declared navigation
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
        """64 bits of which near-duplicates differ in few; 0 where the text is too short to tell.

        Made when asked for, and not carried: whoever reads the text can make it, and a crawler that never
        asks does without numpy, which is a sixth of its memory.
        """
        try:
            from ipmicra.model.similarity import similarity_hash
        except ModuleNotFoundError:  # numpy: a plain install on a host does without
            from ipmicra.model.plain_similarity import similarity_hash

        return similarity_hash(self.text)

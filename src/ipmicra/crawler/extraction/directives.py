"""meta robots and X-Robots-Tag -> what the site asks of an index.

Law: the stricter wins. A directive addressed to another crawler is not ours; one addressed to us or to
nobody in particular is. Unknown directives are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ipmicra.crawler.extraction.page import RobotsDirectives

AGENT = "ipmicra"  # the name that a site may address us by, as in robots.txt
_WITH_VALUE = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")

_SILENCE = RobotsDirectives()


def directives(meta: Sequence[str], header: str) -> RobotsDirectives:
    """From the contents of the meta elements addressed to us, and the header as received."""
    if not meta and not header:
        return _SILENCE
    words = {word.strip().lower() for content in meta for word in content.split(",")}
    words |= set(_header_words(header))
    return RobotsDirectives(
        noindex=not words.isdisjoint(("noindex", "none")),
        nofollow=not words.isdisjoint(("nofollow", "none")),
        nosnippet=not words.isdisjoint(("nosnippet", "max-snippet:0", "max-snippet: 0")),
    )


def _header_words(header: str) -> Iterable[str]:
    """`otherbot: noindex, nofollow, ipmicra: nosnippet`: a name holds until the next one."""
    ours = True
    for part in header.lower().split(","):
        name, colon, rest = part.strip().partition(":")
        if colon and name.strip() not in _WITH_VALUE:
            ours = name.strip() == AGENT
            part = rest
        if ours:
            yield part.strip()

"""meta robots and X-Robots-Tag -> the site's directives for an index.

Invariant: the stricter wins. A directive addressed to another crawler does not apply; one addressed to us
or to all crawlers does. Unknown directives are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ipmicra.model.page import RobotsDirectives

AGENT = (
    "ipmicra"  # the name that a site may address us by, as in robots.txt, where the crawl has no other
)
_WITH_VALUE = ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")

_SILENCE = RobotsDirectives()
_BETWEEN_WORDS = re.compile(r"[,;\s]+")


def directives(meta: Sequence[str], header: str, agent: str = AGENT) -> RobotsDirectives:
    """From the contents of the meta elements addressed to us, and the header, a line a field."""
    if not meta and not header:
        return _SILENCE
    said = [*(content.lower() for content in meta), *_said_to_us(header, agent)]
    words = {word for text in said for word in _BETWEEN_WORDS.split(text.replace(": ", ":"))}
    return RobotsDirectives(
        noindex=not words.isdisjoint(("noindex", "none")),
        nofollow=not words.isdisjoint(("nofollow", "none")),
        nosnippet=not words.isdisjoint(("nosnippet", "max-snippet:0")),
    )


def _said_to_us(header: str, agent: str) -> Iterable[str]:
    """`otherbot: noindex, nofollow, ipmicra: nosnippet`: a name holds until the next one or the next field.

    A name is one word: the colons of a date that a directive carries follow several.
    """
    for field in header.lower().splitlines():
        ours = True
        for part in field.split(","):
            name, colon, rest = part.strip().partition(":")
            if colon and len(name.split()) == 1 and name.strip() not in _WITH_VALUE:
                ours = name.strip() == agent
                part = rest
            if ours:
                yield part.strip()

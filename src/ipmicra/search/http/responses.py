"""A request -> the bytes of the response: the search page, or JSON.

Invariant: the same bytes by both paths, the application's and the fast one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from ipmicra.search.contract import SearchIndex
from ipmicra.search.http import pages
from ipmicra.search.http.parameters import asked, refuse_others
from ipmicra.theme.layout import Navigation

API, PAGE = "/api/search", "/search"
SearchContext: TypeAlias = Sequence[tuple[str, str]]  # names and values behind the question mark
_URL_CHARACTERS_MAX = 8_192
_encode = msgspec.json.Encoder().encode


def search_json(index: SearchIndex, given: SearchContext) -> bytes:
    refuse_others([name for name, _ in given])
    return _encode(index.search(asked(dict(given))))


def page(index: SearchIndex, navigation: Navigation, given: SearchContext) -> bytes:
    """Where something is said twice, the first counts."""
    wanted = asked(dict(reversed(given)))
    if not wanted.text.strip():
        return pages.empty_page(index.page_count(), navigation).encode()
    return pages.answer_page(wanted, index.search(wanted), navigation).encode("utf-8", "replace")


def kept(index: SearchIndex, navigation: Navigation, given: SearchContext) -> bytes:
    """The text of a page as it was crawled."""
    wanted = dict(reversed(given))
    url = wanted.get("url", "")[:_URL_CHARACTERS_MAX]
    text = wanted.get("q", "")
    return pages.stored_page(url, index.seen(url), text, navigation).encode("utf-8", "replace")

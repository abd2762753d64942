"""A page <-> what the ledger keeps of it: small pieces, so that showing a hit reads little.

Law: lossless. `facts` is everything but text and links; `head` is the text's beginning, in which the words
of a question mostly are; `rest` is what follows; `links` are needed only to know what has changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import zstandard

from ipmicra.crawler.extraction.page import Link, Page

HEAD_CHARACTERS = 4_000
_LEVEL = 3
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Page).decode
_decode_links = msgspec.msgpack.Decoder(list[Link]).decode


class KeptPage(NamedTuple):
    """As in the columns of the ledger. `rest` and `links` are empty where there are none."""

    facts: bytes
    head: bytes
    rest: bytes
    links: bytes


def kept(page: Page) -> KeptPage:
    compress = zstandard.ZstdCompressor(level=_LEVEL).compress
    text = page.text.encode("utf-8", "surrogatepass")
    cut = len(page.text[:HEAD_CHARACTERS].encode("utf-8", "surrogatepass"))
    return KeptPage(
        _encode(msgspec.structs.replace(page, text="", links=[])),
        compress(text[:cut]),
        compress(text[cut:]) if len(text) > cut else b"",
        compress(_encode(page.links)) if page.links else b"",
    )


def facts_of(kept_facts: bytes) -> Page:
    """The page without its text and its links."""
    return _decode(kept_facts)


def texts_of(pieces: Iterable[bytes]) -> list[str]:
    inflate = zstandard.ZstdDecompressor().decompress
    return [inflate(piece).decode("utf-8", "surrogatepass") if piece else "" for piece in pieces]


def page_of(page: KeptPage) -> Page:
    """The whole page as it was."""
    links = zstandard.ZstdDecompressor().decompress(page.links) if page.links else b""
    return msgspec.structs.replace(
        facts_of(page.facts),
        text="".join(texts_of((page.head, page.rest))),
        links=_decode_links(links) if links else [],
    )

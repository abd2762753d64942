"""A page <-> what the ledger keeps of it: small pieces, so that showing a hit reads little.

Law: lossless. `facts` is everything but text and links; `head` is the text's beginning, in which the words
of a question mostly are; `rest` is what follows; `links` are needed only to know what has changed.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import msgspec
import zstandard

from ipmicra.model.page import Link, Page, RobotsDirectives

HEAD_CHARACTERS = 4_000
_LEVEL = 3
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Page).decode
_decode_links = msgspec.msgpack.Decoder(list[Link]).decode


class HitFields(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Of a page's facts those that a hit shows, and only these are read; in the order of `Page`."""

    url: msgspec.Raw
    canonical: msgspec.Raw
    title: str
    description: str
    language: str
    text: msgspec.Raw
    headings: msgspec.Raw
    links: msgspec.Raw
    published_at_s: int | None
    modified_at_s: msgspec.Raw
    content_hash: msgspec.Raw
    robots: RobotsDirectives


class StoredPage(NamedTuple):
    """As in the columns of the ledger. `rest` and `links` are empty where there are none."""

    facts: bytes
    head: bytes
    rest: bytes
    links: bytes


_decode_facts = msgspec.msgpack.Decoder(HitFields).decode


def kept(page: Page) -> StoredPage:
    compress = _zstandard.compress
    text = page.text.encode("utf-8", "surrogatepass")
    cut = len(page.text[:HEAD_CHARACTERS].encode("utf-8", "surrogatepass"))
    return StoredPage(
        _encode(msgspec.structs.replace(page, text="", links=[])),
        compress(text[:cut]),
        compress(text[cut:]) if len(text) > cut else b"",
        compress(_encode(page.links)) if page.links else b"",
    )


def facts_of(kept_facts: bytes) -> HitFields:
    return _decode_facts(kept_facts)


def text_of(piece: bytes) -> str:
    return _inflated(piece).decode("utf-8", "surrogatepass")


def page_of(page: StoredPage) -> Page:
    """The whole page as it was."""
    links = _inflated(page.links)
    return msgspec.structs.replace(
        _decode(page.facts),
        text=text_of(page.head) + text_of(page.rest),
        links=_decode_links(links) if links else [],
    )


def _inflated(piece: bytes) -> bytes:
    return _zstandard.decompress(piece) if piece else b""


class _OfThisThread(threading.local):
    """Made once a thread: making one costs more than most texts, and two threads may not share one."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_zstandard = _OfThisThread()

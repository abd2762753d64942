"""A page <-> its stored form in the catalogue: small parts, so that showing a hit reads little.

Invariant: lossless. `facts` is everything but text and links; `head` is the text's beginning, in which
the words of a query mostly are; `rest` is the remaining text; `links` are only needed to detect changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol, cast

import msgspec
import zstandard

from ipmicra.model.page import Link, Page, RobotsDirectives

HEAD_CHARACTERS = 4_000
_LEVEL = 3
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Page).decode
_decode_links = msgspec.msgpack.Decoder(list[Link]).decode


class HitFields(Protocol):
    """Of a page's facts those that a hit shows, by their names in `Page`; only these are read."""

    title: str
    description: str
    language: str
    published_at_s: int | None
    robots: RobotsDirectives


class StoredPage(NamedTuple):
    """The columns of a page in the catalogue. `rest` and `links` are empty if it has none."""

    facts: bytes
    head: bytes
    rest: bytes
    links: bytes


def hit_fields_decoder(page: type[Page], shown: Collection[str]) -> Callable[[bytes], HitFields]:
    """Facts of a page -> the fields to show; the others are skipped. Facts that lack one have its default."""
    fields = msgspec.structs.fields(page)
    last = max(at for at, field in enumerate(fields) if field.name in shown)
    layout = [_layout(field, field.name in shown) for field in fields[: last + 1]]
    struct = msgspec.defstruct(
        "StoredHitFields", layout, module=__name__, frozen=True, array_like=True, gc=False
    )
    return cast("Callable[[bytes], HitFields]", msgspec.msgpack.Decoder(struct).decode)


def _layout(field: msgspec.structs.FieldInfo, is_shown: bool) -> tuple[str, Any, Any]:
    if not is_shown:
        return field.name, msgspec.Raw, msgspec.Raw()
    if field.default_factory is not msgspec.NODEFAULT:
        return field.name, field.type, msgspec.field(default_factory=field.default_factory)
    return field.name, field.type, msgspec.field(default=field.default)


_decode_facts = hit_fields_decoder(Page, HitFields.__annotations__)


def encode_page(page: Page) -> StoredPage:
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
    """One compressor per thread: making one costs more than most texts, and threads must not share one."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_zstandard = _OfThisThread()

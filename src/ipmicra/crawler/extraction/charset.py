"""Bytes and their content type -> the same as UTF-8, and the name of the charset that they were
written in.

Invariant: the WHATWG order (byte-order mark, HTTP header, meta, content) with two corrections for wrong
declarations: bytes that are UTF-8 beyond ASCII are UTF-8 even if a single-byte charset was declared, and
bytes declared UTF-8 that are not are judged by their content. Decoding never fails.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

from turbohtml.detect import Detection, detect  # also registers the whatwg-* codecs

from ipmicra.crawler.extraction import compiled_markup

_HEADER_CHARSET = re.compile(r"charset\s{0,20}=\s{0,20}[\"']?([\w.:+-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(
    rb"<meta[^>]{0,400}?charset\s{0,20}=\s{0,20}[\"']?\s{0,20}([\w.:+-]{1,40})", re.IGNORECASE
)
_XML_CHARSET = re.compile(rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:+-]{1,40})", re.IGNORECASE)
_META_WITHIN_BYTES = 4096  # the standard says 1024; real pages are later than that
_DETECT_WITHIN_BYTES = 64 * 1024  # more evidence does not change the answer
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))


def as_utf8(body: bytes, content_type: str, url: str = "") -> tuple[bytes, str]:
    """The text in UTF-8, and the charset's WHATWG label in lower case."""
    for mark, label in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _recoded(body[len(mark) :], label), label
    declared = _declared(body, content_type)
    if declared in ("", "utf-8") or _is_single_byte(declared):
        if body.isascii():
            return body, declared or "utf-8"
        if _is_utf8(body):
            return body, "utf-8"
    label = declared if declared not in ("", "utf-8") else _judged(body, url)
    return _recoded(body, f"whatwg-{label}"), label


def _recoded(body: bytes, codec: str) -> bytes:
    return body.decode(codec, "replace").encode("utf-8", "replace")


def _decodes(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


_is_utf8 = compiled_markup.is_utf8 or _decodes


def _declared(body: bytes, content_type: str) -> str:
    """The label that the header or the page declares and that a decoder exists for; else ""."""
    header = _HEADER_CHARSET.search(content_type) if content_type else None
    label = _known(header[1]) if header else ""
    if label:
        return label
    start = body[:_META_WITHIN_BYTES]
    within = _META_CHARSET.search(start) or _XML_CHARSET.search(start)
    label = _known(within[1].decode("ascii", "replace")) if within else ""
    return "utf-8" if label.startswith("utf-16") else label  # a meta in ASCII bytes cannot be UTF-16


@lru_cache(256)
def _known(label: str) -> str:
    label = label.strip().lower()
    try:
        codecs.lookup(f"whatwg-{label}")
    except LookupError:
        return ""
    return "utf-8" if label in ("utf8", "unicode-1-1-utf-8") else label


def _is_single_byte(label: str) -> bool:
    return label.startswith(("iso-8859", "iso8859", "windows-12", "latin", "us-ascii", "ascii", "cp12"))


def _judged(body: bytes, url: str) -> str:
    """The charset that the bytes look like, near-valid UTF-8 first: one bad byte must not spoil a page."""
    sample = body[:_DETECT_WITHIN_BYTES]
    replaced = sample.decode("utf-8", "replace")
    wrong = replaced.count("�")
    if wrong * 20 < sum(not character.isascii() for character in replaced):
        return "utf-8"
    start, rest = sample[:_META_WITHIN_BYTES], sample[_META_WITHIN_BYTES:]
    match = detect(_META_CHARSET.sub(b"", start) + rest, Detection(tld=_top_level(url)))
    return (match.encoding or "windows-1252").lower()


def _top_level(url: str) -> str | None:
    name = url.partition("//")[2].partition("/")[0].partition(":")[0].rpartition(".")[2]
    return name.lower() if name.isalpha() else None

"""Parts of one response as they arrive -> head, body pieces, times, and whether to continue.

Invariant: it never holds more header bytes, header fields or body bytes than the caps allow. It is filled
by a connection (`http1`, `http2`) and read by the fetcher once `done` is set.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import FetchRequest, Headers

if TYPE_CHECKING:
    from ipmicra.crawler.fetching.http_connection import HttpConnection

DRAIN_BYTES_MAX = 64 << 10  # an unwanted body up to this is read anyway, to keep the connection
WIRE_FACTOR = 4  # chunk framing and trailers may cost this much beside the body itself


class ResponseCaps(NamedTuple):
    """Upper bounds on one response."""

    body_bytes: int
    header_bytes: int
    header_count: int


class PartialResponse:
    """A response in progress."""

    __slots__ = (
        "body_bytes",
        "caps",
        "chunked",
        "connection",
        "content_encoding",
        "content_length",
        "done",
        "failure",
        "fields",
        "fields_bytes",
        "finished_at",
        "first_byte_at",
        "head_complete",
        "http2_wanted",
        "pieces",
        "raw",
        "request",
        "round_trip_ms",
        "skipping",
        "started_at",
        "status",
        "truncated",
        "wire_bytes",
    )

    def __init__(self, request: FetchRequest, caps: ResponseCaps, done: asyncio.Future[None]) -> None:
        self.request = request
        self.caps = caps
        self.done = done
        self.connection: HttpConnection | None = None  # while it arrives
        self.started_at = self.first_byte_at = self.finished_at = 0.0
        self.wire_bytes = self.body_bytes = self.fields_bytes = 0
        self.status = 0
        self.fields: list[tuple[bytes, bytes]] = []
        self.pieces: list[bytes] = []
        self.raw: list[bytes] | None = [] if request.keep_raw else None
        self.head_complete = self.skipping = self.truncated = self.chunked = False
        self.http2_wanted = False  # the server spoke HTTP/2 to our HTTP/1.1
        self.content_length: int | None = None
        self.round_trip_ms: float | None = None  # the kernel's, taken at the end
        self.content_encoding = b""
        self.failure: tuple[FailureKind, str] | None = None

    def add_field(self, name: bytes, value: bytes) -> str | None:
        """Take one header field; the text is what is wrong with it. Trailers are not kept."""
        if self.head_complete:
            return None
        self.fields.append((name.lower(), value))
        self.fields_bytes += len(name) + len(value) + 4
        if len(self.fields) > self.caps.header_count:
            return f"more than {self.caps.header_count} header fields"
        if self.fields_bytes > self.caps.header_bytes:
            return f"more than {self.caps.header_bytes} bytes of header"
        return None

    def complete_head(self, status: int) -> None:
        """Handle the end of the head: read the fields that describe the body."""
        self.status = status
        self.head_complete = True
        media_type = b""
        for name, value in self.fields:
            if name == b"content-type":
                media_type = media_type or value
            elif name == b"content-encoding":
                self.content_encoding += b"," + value if self.content_encoding else value
            elif name == b"content-length" and value.isdigit() and len(value) < 19:
                self.content_length = int(value)
            elif name == b"transfer-encoding":
                self.chunked = b"chunked" in value.lower()  # any other ends with the connection
        self.skipping = self._unwanted(media_type)

    def _unwanted(self, media_type: bytes) -> bool:
        wanted = self.request.wanted_types
        if wanted is None or not 200 <= self.status < 300:
            return False
        return media_type.partition(b";")[0].strip().lower().decode("latin-1") not in wanted

    @property
    def not_worth_draining(self) -> bool:
        """An unwanted body that is too long, or of unknown length: hang up rather than read it."""
        return self.skipping and (self.content_length is None or self.content_length > DRAIN_BYTES_MAX)

    def add_piece(self, piece: bytes) -> bool:
        """Take a piece of the body; False when it is full and the rest is not wanted."""
        self.body_bytes += len(piece)
        if self.skipping:
            return self.body_bytes <= DRAIN_BYTES_MAX
        self.pieces.append(piece)
        if self.body_bytes <= self.caps.body_bytes:
            return True
        self.truncated = True
        return False

    @property
    def overhead_is_absurd(self) -> bool:
        """Whether far more bytes arrived than head and body explain: an attack by chunk framing."""
        return self.wire_bytes > WIRE_FACTOR * (self.caps.body_bytes + self.caps.header_bytes)

    def headers(self) -> Headers:
        return Headers(self.fields)

    def body(self) -> bytes:
        """As it crossed the wire, cut to the cap."""
        whole = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        return whole[: self.caps.body_bytes] if self.truncated else whole

    def finish(self, now: float) -> None:
        self.finished_at = now
        self.connection = None
        if not self.done.done():
            self.done.set_result(None)

    def fail(self, kind: FailureKind, detail: str, now: float) -> None:
        self.failure = (kind, detail)
        self.finish(now)

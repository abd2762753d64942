"""Bytes of HTTP/1.1 <-> one answer after the other, on the event loop without streams or tasks.

Invariant: parsed by llhttp, strict but for bare line feeds, stray spaces after a chunk size and data
after "close", which real servers send. Framing decides where an answer ends; without any, the end of the
connection does. An answer cut short is a failure, not a page.
"""

from __future__ import annotations

from functools import lru_cache
from time import monotonic

import httptools

from ipmicra.crawler.fetching.content_decoding import ACCEPT_ENCODING
from ipmicra.crawler.fetching.http_connection import HttpConnection, Wire, request_fields
from ipmicra.crawler.fetching.partial_response import PartialResponse
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import FetchRequest
from ipmicra.net.target import HttpTarget

_HTTP2_SETTINGS_FRAME = 4


class Http1Connection(HttpConnection):
    """HTTP/1.1 with keep-alive."""

    http_version = "1.1"

    def __init__(self, wire: Wire, user_agent: str) -> None:
        super().__init__(wire, user_agent)
        self._parser = self._new_parser()

    def _new_parser(self) -> httptools.HttpResponseParser:
        parser = httptools.HttpResponseParser(self)
        parser.set_dangerous_leniencies(
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
            lenient_data_after_close=True,
        )
        return parser

    def send(self, incoming: PartialResponse, target: HttpTarget) -> bytes:
        request = incoming.request
        start = f"{request.method} {target.resource} HTTP/1.1\r\nhost: {target.host_header}\r\n"
        if request.etag or request.last_modified:
            lines = _lines(request_fields(request, self._user_agent, ACCEPT_ENCODING))
        else:
            lines = _usual_lines(request.accept, self._user_agent)
        written = f"{start}{lines}\r\n".encode("latin-1")
        self._incoming = incoming
        incoming.connection = self
        incoming.started_at = monotonic()
        self.uses += 1
        if self._transport is None:
            self.fail(FailureKind.RESET, "the connection ended early: closed by the site")
        else:
            self._transport.write(written)
        return written

    def data_received(self, data: bytes) -> None:
        incoming = self._incoming
        if incoming is None:
            self.close()
            return
        if not incoming.wire_bytes:
            incoming.first_byte_at = monotonic()
        incoming.wire_bytes += len(data)
        if incoming.raw is not None:
            incoming.raw.append(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.fail(FailureKind.BAD_HTTP, "switched to another protocol without being asked")
        except httptools.HttpParserError as error:
            incoming.http2_wanted = _is_http2(data)
            self.fail(FailureKind.BAD_HTTP, f"not HTTP/1.1: {error}")
        if self._incoming is incoming:
            self._check_overhead(incoming)

    def _check_overhead(self, incoming: PartialResponse) -> None:
        if not incoming.head_complete and incoming.wire_bytes > incoming.caps.header_bytes:
            detail = f"more than {incoming.caps.header_bytes} bytes of header"
            self.fail(FailureKind.HEADERS_TOO_LARGE, detail)
        elif incoming.overhead_is_absurd:
            self.fail(FailureKind.BAD_HTTP, "far more framing than content")

    # Callbacks of llhttp. After a failure or the end, `_incoming` is None and later calls do nothing.

    def on_message_begin(self) -> None:
        if self._incoming is None:
            self.close()  # a second answer to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._incoming is None:
            return
        wrong = self._incoming.add_field(name, value)
        if wrong is not None:
            self.fail(FailureKind.HEADERS_TOO_LARGE, wrong)

    def on_headers_complete(self) -> None:
        incoming = self._incoming
        if incoming is None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            incoming.fields.clear()  # an interim answer: the real one follows
            return
        incoming.complete_head(status)
        self.http_version = self._parser.get_http_version()
        if incoming.request.method == "HEAD":
            keep_alive = self._parser.should_keep_alive()
            self._parser = self._new_parser()  # this one waits for a body that will not come
            self._finish(keep_alive)
        elif incoming.not_worth_draining:
            self._finish(keep_alive=False)

    def on_body(self, body: bytes) -> None:
        if self._incoming is not None and not self._incoming.add_piece(body):
            self._finish(keep_alive=False)

    def on_message_complete(self) -> None:
        if self._incoming is not None and self._incoming.head_complete:
            self._finish(self._parser.should_keep_alive())

    def _on_lost_while_receiving(self, incoming: PartialResponse, error: Exception | None) -> None:
        framed = incoming.chunked or incoming.content_length is not None
        if error is None and incoming.head_complete and not framed:
            self._finish(keep_alive=False)
        else:
            super()._on_lost_while_receiving(incoming, error)


@lru_cache(16)
def _usual_lines(accept: str, user_agent: str) -> str:
    """The fields of a request without validators: the same for every page."""
    return _lines(request_fields(FetchRequest(url="", accept=accept), user_agent, ACCEPT_ENCODING))


def _lines(fields: list[tuple[str, str]]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in fields])


def _is_http2(data: bytes) -> bool:
    """Whether a server greets with HTTP/2's SETTINGS frame on stream 0."""
    return len(data) >= 9 and data[3] == _HTTP2_SETTINGS_FRAME and data[5:9] == bytes(4)

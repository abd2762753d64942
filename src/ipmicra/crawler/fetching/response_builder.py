"""A whole answer as it crossed the wire -> the value that the engine gets.

Invariant: inflating happens here, capped; what the site got wrong becomes a `FetchFailed`.
"""

from __future__ import annotations

from ipmicra.crawler.fetching.content_decoding import BadEncoding, InflateBomb, Inflated, inflate
from ipmicra.crawler.fetching.http_connection import HttpConnection
from ipmicra.crawler.fetching.partial_response import PartialResponse
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchFailed, FetchOutcome, RawExchange, Timings


def build_fetched(
    incoming: PartialResponse,
    connection: HttpConnection,
    written: bytes,
    dns_ms: float | None,
    inflate_ratio_max: int,
) -> FetchOutcome:
    """The answer, inflated, with its times."""
    try:
        body, cut = _inflated(incoming, inflate_ratio_max)
    except BadEncoding as error:
        return _build_failed(incoming, connection, FailureKind.BAD_ENCODING, str(error))
    except InflateBomb as error:
        return _build_failed(incoming, connection, FailureKind.INFLATE_BOMB, str(error))
    request = incoming.request
    raw = incoming.raw
    return Fetched(
        url=request.url,
        status=incoming.status,
        headers=incoming.headers(),
        body=body,
        truncated=cut,
        body_skipped=incoming.skipping and request.method != "HEAD",
        address=connection.wire.address,
        http_version=connection.http_version,
        reused=connection.uses > 1,
        bytes_on_wire=incoming.wire_bytes,
        timings=_timings(incoming, connection, dns_ms),
        raw=None if raw is None else RawExchange(request=written, response=b"".join(raw)),
    )


def build_failed(incoming: PartialResponse, connection: HttpConnection) -> FetchFailed:
    """The failure of a response that did not arrive."""
    assert incoming.failure is not None, "the response has not failed"
    kind, detail = incoming.failure
    return _build_failed(incoming, connection, kind, detail)


def _build_failed(
    incoming: PartialResponse,
    connection: HttpConnection,
    kind: FailureKind,
    detail: str,
) -> FetchFailed:
    return FetchFailed(
        url=incoming.request.url,
        kind=kind,
        detail=detail,
        address=connection.wire.address,
        round_trip_ms=_round_trip_ms(incoming, connection),
        bytes_on_wire=incoming.wire_bytes,
    )


def _inflated(incoming: PartialResponse, ratio_max: int) -> Inflated:
    body = incoming.body()
    if not incoming.content_encoding or not body:
        return Inflated(body, incoming.truncated)
    coding = incoming.content_encoding.decode("latin-1")
    made = inflate(body, coding, incoming.caps.body_bytes, ratio_max)
    return Inflated(made.body, True) if incoming.truncated else made


def _timings(incoming: PartialResponse, connection: HttpConnection, dns_ms: float | None) -> Timings:
    fresh = connection.uses == 1
    return Timings(
        round_trip_ms=_round_trip_ms(incoming, connection),
        round_trip_is_kernel=incoming.round_trip_ms is not None,
        dns_ms=dns_ms,
        connect_ms=connection.wire.connect_ms if fresh else None,
        tls_ms=connection.tls_ms if fresh else None,
        first_byte_ms=(incoming.first_byte_at - incoming.started_at) * 1000,
        download_ms=(incoming.finished_at - incoming.first_byte_at) * 1000,
    )


def _round_trip_ms(incoming: PartialResponse, connection: HttpConnection) -> float:
    """The kernel's figure; where it has none, the time that connecting took."""
    measured = incoming.round_trip_ms
    return connection.wire.connect_ms if measured is None else measured

"""One HTTP request for a file, or for the rest of one -> its answer, streamed.

Python's own HTTP client does: redirects, proxies and TLS as the system has them, and nothing to install
for a handful of plain GETs. What it leaves to the caller is done here: answers shorter than announced,
servers that trickle, redirects out of HTTP.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import (
    BaseHandler,
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from ipmicra import __version__

PIECE_BYTES = 1 << 18
RATE_BYTES_PER_SECOND_MIN = 100  # a server that is slower than this over a whole timeout counts as away
NOT_MODIFIED, RANGE_NOT_SATISFIABLE = 304, 416
WORTH_ANOTHER_TRY = frozenset({408, 425, 429, 500, 502, 503, 504})
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class Broken(Exception):
    """The transfer failed; `for_good` says that another try would not help."""

    def __init__(self, why: str, for_good: bool = False) -> None:
        super().__init__(why)
        self.for_good = for_good


class Validators(NamedTuple):
    """The headers by which a server distinguishes versions of a file."""

    etag: str = ""
    last_modified: str = ""

    def strong(self) -> str:
        """The validator for If-Range; weak tags do not promise equal bytes."""
        return self.last_modified if self.etag.startswith("W/") or not self.etag else self.etag


class TransferResponse(NamedTuple):
    """`begins_at` is where in the file the body begins; `total_bytes` the file's size, -1 if unknown."""

    status: int
    validators: Validators
    begins_at: int
    total_bytes: int
    body: HTTPResponse | None


def _opener() -> OpenerDirector:
    """HTTP and HTTPS only, wherever a redirect points to."""
    opener = OpenerDirector()
    handlers: tuple[type[BaseHandler], ...] = (
        *(ProxyHandler, HTTPHandler, HTTPSHandler),
        *(HTTPRedirectHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler),
    )
    for handler in handlers:
        opener.add_handler(handler())
    return opener


def ask(url: str, headers: dict[str, str], timeout_s: float) -> TransferResponse:
    """Send the request and read the head of the answer."""
    headers = {"User-Agent": f"ipmicra/{__version__}", "Accept-Encoding": "identity", **headers}
    try:
        response = _opener().open(Request(url, headers=headers), timeout=timeout_s)  # noqa: S310 - of known schemes
    except HTTPError as error:
        with error:
            return _answer_of_error(error)
    except (URLError, HTTPException, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise Broken(_told(reason, timeout_s)) from error
    if not isinstance(response, HTTPResponse):
        raise Broken("the URL is not of a file that HTTP or HTTPS can fetch", for_good=True)
    return _answer(response)


def pieces(answer: TransferResponse, timeout_s: float) -> Iterator[bytes]:
    """The body; Broken if it ends early, stalls, or trickles."""
    assert answer.body is not None
    left = answer.total_bytes - answer.begins_at if answer.total_bytes >= 0 else None
    window_begin, window_bytes = time.monotonic(), 0
    with answer.body as body:
        while True:
            try:
                piece = body.read1(PIECE_BYTES)
            except (HTTPException, OSError, ValueError) as error:
                raise Broken(_told(error, timeout_s)) from error
            if not piece:
                break
            yield piece
            window_bytes += len(piece)
            left = left - len(piece) if left is not None else None
            if time.monotonic() - window_begin > timeout_s:
                if window_bytes < RATE_BYTES_PER_SECOND_MIN * timeout_s:
                    raise Broken(f"the server sent {window_bytes} bytes in {timeout_s:g} s")
                window_begin, window_bytes = time.monotonic(), 0
    if left:
        raise Broken(f"the server closed the connection {left:,} bytes before the end")


def _answer(response: HTTPResponse) -> TransferResponse:
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdigit() else -1
    validators = Validators(response.headers.get("ETag", ""), response.headers.get("Last-Modified", ""))
    begins_at = 0
    if response.status == 206:
        part = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if part is None:
            response.close()
            raise Broken("the server sent a part of the file without saying which")
        begins_at = int(part[1])
        total = int(part[2]) if part[2] != "*" else (begins_at + total if total >= 0 else -1)
    return TransferResponse(response.status, validators, begins_at, total, response)


def _answer_of_error(error: HTTPError) -> TransferResponse:
    if error.code in (NOT_MODIFIED, RANGE_NOT_SATISFIABLE):
        return TransferResponse(error.code, Validators(), 0, -1, None)
    for_good = error.code not in WORTH_ANOTHER_TRY
    raise Broken(f"the server answered {error.code} {error.reason}", for_good) from error


def _told(reason: object, timeout_s: float) -> str:
    if isinstance(reason, TimeoutError):
        return f"the server said nothing for {timeout_s:g} s"
    return f"{reason or type(reason).__name__}"

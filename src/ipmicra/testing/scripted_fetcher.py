"""A script of answers per URL -> a Fetcher without a network, for tests of the crawl engine.

It keeps the same contract as the real one (`fetcher_contract`). A script maps a URL to one answer, or to
a list of answers of which each fetch takes the next and the last one stays.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self

import can_ada

from ipmicra.addresses import IPAddress
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import (
    Fetched,
    FetchFailed,
    FetchOutcome,
    FetchRequest,
    Headers,
    RawExchange,
    Timings,
)

SCRIPTED_ADDRESS = ipaddress.ip_address("93.184.216.34")


class ScriptedAnswer(NamedTuple):
    """What a scripted site says."""

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/html; charset=utf-8"),)
    address: IPAddress = SCRIPTED_ADDRESS
    round_trip_ms: float = 20.0


Script = ScriptedAnswer | FailureKind | Sequence[ScriptedAnswer | FailureKind]


class ScriptedFetcher:
    """Answers from a script; what is not in it does not exist (404). `requests` is what was asked."""

    def __init__(self, script: Mapping[str, Script], body_bytes_max: int = 8 << 20) -> None:
        self._answers = {url: _as_list(entry) for url, entry in script.items()}
        self._body_bytes_max = body_bytes_max
        self._running: defaultdict[str, asyncio.Condition] = defaultdict(asyncio.Condition)
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._closed = False
        self.requests: list[FetchRequest] = []
        self.running_max = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True

    async def locate(self, url: str) -> IPAddress | FetchFailed:
        if _site_of(url) is None:
            return FetchFailed(url=url, kind=FailureKind.BAD_URL, detail="not a web address")
        scripted = self._answers.get(url, [ScriptedAnswer()])[0]
        return scripted.address if isinstance(scripted, ScriptedAnswer) else SCRIPTED_ADDRESS

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        site = _site_of(request.url)
        if site is None:
            return FetchFailed(url=request.url, kind=FailureKind.BAD_URL, detail="not a web address")
        if self._closed:
            return FetchFailed(url=request.url, kind=FailureKind.CLOSED, detail="the fetcher is closed")
        turn = self._running[site]
        async with turn:
            await turn.wait_for(lambda: self._counts[site] < request.connections_max)
            self._counts[site] += 1
        self.running_max = max(self.running_max, self._counts[site])
        await asyncio.sleep(0)
        async with turn:
            self._counts[site] -= 1
            turn.notify()
        self.requests.append(request)
        return self._outcome(request)

    def _outcome(self, request: FetchRequest) -> FetchOutcome:
        answers = self._answers.get(request.url, [ScriptedAnswer(status=404)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, FailureKind):
            return FetchFailed(url=request.url, kind=answer, detail="as scripted")
        return _fetched(request, answer, request.body_bytes_max or self._body_bytes_max)


def _as_list(entry: Script) -> list[ScriptedAnswer | FailureKind]:
    return [entry] if isinstance(entry, ScriptedAnswer | FailureKind) else list(entry)


def _site_of(url: str) -> str | None:
    try:
        parsed = can_ada.parse(url)
    except ValueError:
        return None
    return parsed.host if parsed.protocol in ("http:", "https:") else None


def _fetched(request: FetchRequest, answer: ScriptedAnswer, body_bytes_max: int) -> Fetched:
    headers = Headers([(key.encode(), value.encode("latin-1")) for key, value in answer.headers])
    media_type = (headers.get("content-type") or "").partition(";")[0]
    skipped = request.wanted_types is not None and media_type not in request.wanted_types
    unchanged = answer.status == 200 and _matches(request, headers)
    body = b"" if skipped or unchanged or request.method == "HEAD" else answer.body
    status = 304 if unchanged else answer.status
    return Fetched(
        url=request.url,
        status=status,
        headers=headers,
        body=body[:body_bytes_max],
        truncated=len(body) > body_bytes_max,
        body_skipped=skipped and not unchanged and request.method != "HEAD",
        address=answer.address,
        http_version="1.1",
        reused=False,
        bytes_on_wire=len(body) + sum(len(key) + len(value) + 4 for key, value in headers.pairs),
        timings=Timings(
            round_trip_ms=answer.round_trip_ms,
            round_trip_is_kernel=True,
            dns_ms=None,
            connect_ms=None,
            tls_ms=None,
            first_byte_ms=answer.round_trip_ms,
            download_ms=0.0,
        ),
        raw=_raw(request, status, headers, body) if request.keep_raw else None,
    )


def _matches(request: FetchRequest, headers: Headers) -> bool:
    same_tag = request.etag is not None and request.etag == headers.get("etag")
    same_date = request.last_modified is not None and request.last_modified == headers.get(
        "last-modified"
    )
    return same_tag or same_date


def _raw(request: FetchRequest, status: int, headers: Headers, body: bytes) -> RawExchange:
    head = f"HTTP/1.1 {status} Scripted\r\n" + "".join(f"{key}: {value}\r\n" for key, value in headers)
    asked = f"{request.method} {can_ada.parse(request.url).pathname} HTTP/1.1\r\n\r\n"
    return RawExchange(request=asked.encode(), response=head.encode("latin-1") + b"\r\n" + body)

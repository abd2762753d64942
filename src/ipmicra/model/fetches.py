"""A request to a site -> its response or failure: the boundary between the crawl engine and the network.

Invariant: a `Fetcher` makes ONE hop and answers with an ordinary value. A status, even 500, is a
`Fetched`; if no complete response arrives, the result is a `FetchFailed` with its kind. Redirects,
robots, retries and politeness are decided by the caller (`redirects.follow` asks it before each hop).
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Literal, Protocol, Self, TypeAlias

import msgspec

from ipmicra.addresses import IPAddress
from ipmicra.model.failures import Blame, FailureKind, blame_of, is_worth_a_retry


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One hop to be made."""

    url: str
    method: Literal["GET", "HEAD"] = "GET"
    etag: str | None = None  # sent as If-None-Match
    last_modified: str | None = None  # sent as If-Modified-Since, verbatim as the site gave it
    accept: str = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"
    wanted_types: tuple[str, ...] | None = None  # other media types: head only, the body is not read
    body_bytes_max: int | None = None  # None: the settings' cap
    connections_max: int = 1  # to this site, and to its address; more only for granted sites
    keep_raw: bool = False  # also the bytes as they crossed the wire, for WARC


class Headers:
    """Header fields as received, names in lower case. Values are read as Latin-1, as HTTP has it."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self.pairs = pairs

    def get(self, name: str) -> str | None:
        """The first field of that (lower-case) name."""
        wanted = name.encode("ascii")
        for key, value in self.pairs:
            if key == wanted:
                return value.decode("latin-1")
        return None

    def all(self, name: str) -> list[str]:
        """Every field of that (lower-case) name, in order."""
        wanted = name.encode("ascii")
        return [value.decode("latin-1") for key, value in self.pairs if key == wanted]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((key.decode("latin-1"), value.decode("latin-1")) for key, value in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the time of one fetch went. What a reused connection did not need is None."""

    round_trip_ms: float | None  # the kernel's least round trip of the connection, else the connect time
    round_trip_is_kernel: bool  # whether TCP_INFO gave it
    dns_ms: float | None
    connect_ms: float | None
    tls_ms: float | None
    first_byte_ms: float  # request written -> first byte of the answer
    download_ms: float  # first byte -> last byte


class RawExchange(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes of one hop as they crossed the wire (of HTTP/2: written down as HTTP/1.1)."""

    request: bytes
    response: bytes


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of the site."""

    url: str
    status: int
    headers: Headers
    body: bytes  # inflated, at most the cap
    truncated: bool  # the body is longer than the cap; what is here is its beginning
    body_skipped: bool  # the media type was not among the wanted ones, so the body was not read
    address: IPAddress  # the one that was connected to
    http_version: str  # "1.0", "1.1" or "2"
    reused: bool  # on a kept-alive connection
    bytes_on_wire: int  # of the answer, head and body, before inflating
    timings: Timings
    raw: RawExchange | None = None

    @property
    def media_type(self) -> str:
        """ "text/html" of "Text/HTML; charset=utf-8"; empty where the site names none."""
        return (self.headers.get("content-type") or "").partition(";")[0].strip().lower()


class FetchFailed(msgspec.Struct, frozen=True, kw_only=True):
    """No whole answer, and why."""

    url: str
    kind: FailureKind
    detail: str  # for people: what was being done and what was wrong
    address: IPAddress | None = None  # where known
    round_trip_ms: float | None = None  # where a connection was made
    bytes_on_wire: int = 0  # what was received anyway

    @property
    def fault(self) -> Blame:
        return blame_of(self.kind)

    @property
    def worth_a_retry(self) -> bool:
        """Whether the same request may well succeed later."""
        return is_worth_a_retry(self.kind)


FetchOutcome: TypeAlias = Fetched | FetchFailed


class Fetcher(Protocol):
    """One hop of the web. The contract is executable: `ipmicra.testing.check_fetcher`."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        """Make one hop. Waits while the site or its address has `connections_max` requests running."""
        ...

    async def locate(self, url: str) -> IPAddress | FetchFailed:
        """The address that a fetch of this URL would connect to now: politeness per address needs it."""
        ...

"""Commands to an agent and its results; a result has the number of its command."""

from __future__ import annotations

import msgspec

from ipmicra.probing.settings import ProbeMethod


class ProbeCommand(msgspec.Struct, frozen=True, kw_only=True, tag="probe"):
    """One round trip, by one way."""

    address: str
    site: str
    way: ProbeMethod = "connect"


class DownloadCommand(msgspec.Struct, frozen=True, kw_only=True, tag="download"):
    """One page over a new connection."""

    url: str


class CrawlCommand(msgspec.Struct, frozen=True, kw_only=True, tag="crawl"):
    """Whole sites, by the crawl engine, a limited number open at once."""

    sites: tuple[str, ...]
    at_once: int
    folder: str


class ProbedRoundTrips(msgspec.Struct, frozen=True, kw_only=True, tag="probed"):
    round_trip_ms: float | None
    silence: str | None = None


class Downloaded(msgspec.Struct, frozen=True, kw_only=True, tag="downloaded"):
    """How long it took from the first packet to the last byte; None: it failed."""

    download_ms: float | None
    round_trip_ms: float | None = None  # the kernel's, from TCP_INFO
    detail: str = ""


class Crawled(msgspec.Struct, frozen=True, kw_only=True, tag="crawled"):
    seconds: float
    pages: int
    failures: dict[str, int]
    bytes_on_wire: int
    package_bytes: int  # compressed, as they would be sent home


AgentCommand = ProbeCommand | DownloadCommand | CrawlCommand
AgentResult = ProbedRoundTrips | Downloaded | Crawled


class Numbered(msgspec.Struct, frozen=True):
    number: int
    wish: AgentCommand


class CommandResult(msgspec.Struct, frozen=True):
    number: int
    found: AgentResult

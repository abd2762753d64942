"""An address and a port -> a sounding: what fetches have shown, else the first way that brings an answer.

Law: never a packet to an address that the guard refuses. A connection is closed as soon as it stands. A
refused connection is no round trip: a firewall on the way may have said no.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from time import monotonic

from ipmicra.addresses import IPAddress
from ipmicra.model.fetches import FailureKind, Fetcher, FetchFailed, FetchRequest
from ipmicra.model.probes import Silence
from ipmicra.net import kernel_round_trip
from ipmicra.net.address_guard import Guard
from ipmicra.net.tcp_connector import new_socket
from ipmicra.probing.icmp import echo_ms
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.probing.result import Sounding, round_trip_in
from ipmicra.probing.settings import ProbingSettings, Way

_TIMEOUTS = frozenset(
    {FailureKind.CONNECT_TIMEOUT, FailureKind.SILENT, FailureKind.TOO_SLOW, FailureKind.TOO_LONG}
)


HOST_PORT = 443  # of a machine that is no web server: most refuse there, few are silent


class Prober:
    """Measures round trips from this machine. `fetcher` is needed for HEAD only."""

    def __init__(
        self,
        settings: ProbingSettings,
        guard: Guard,
        passive: PassiveRoundTrips | None = None,
        fetcher: Fetcher | None = None,
        source_address: str = "",
    ) -> None:
        self._settings = settings
        self._guard = guard
        self._passive = passive or PassiveRoundTrips(settings)
        self._fetcher = fetcher
        self._source_address = source_address

    async def probe(self, address: IPAddress, port: int = 443, site: str = "") -> Sounding:
        """The round trip to an address. `site`, such as https://example.org, is whom HEAD asks."""
        known = self._passive.known(address)
        if known is not None:
            return known
        sounding = Sounding(way="connect", silence=Silence.REFUSED, detail="no way to probe is set")
        for way in self._settings.ways:
            sounding = await self.probe_by(way, address, port, site)
            if sounding.round_trip_ms is not None:
                break
        return sounding

    async def probe_host(self, address: IPAddress) -> Sounding:
        """The round trip to a machine that need not serve anything: a refusal is an answer too.

        Where round trips are read off answers there is none to be had: whoever refuses is near by.
        """
        if self._settings.by_answers:
            return Sounding(way="answer", silence=Silence.REFUSED, detail="a host answers no questions")
        known = self._passive.known(address)
        if known is not None:
            return known
        if (refusal := self._guard.refusal(address)) is not None:
            return Sounding(way="connect", silence=Silence.REFUSED, detail=refusal)
        sounding = await self._tried("connect", self._meet(address))
        if sounding.round_trip_ms is None and "icmp" in self._settings.ways:
            return await self.probe_by("icmp", address)
        return sounding

    async def probe_by(self, way: Way, address: IPAddress, port: int = 443, site: str = "") -> Sounding:
        """The least round trip of the tries, by this one way."""
        refusal = self._guard.refusal(address) or self._guard.port_refusal(port)
        if refusal is not None:
            return Sounding(way=way, silence=Silence.REFUSED, detail=refusal)
        if way == "passive":
            return self._passive.known(address) or _unseen()
        tries = [await self._try(way, address, port, site) for _ in range(max(1, self._settings.tries))]
        return min(tries, key=_least_first)

    async def _try(self, way: Way, address: IPAddress, port: int, site: str) -> Sounding:
        asks: dict[Way, Callable[[], Awaitable[Sounding]]] = {
            "connect": lambda: self._connect(address, port),
            "head": lambda: self._head(way, address, port, site),
            "answer": lambda: self._head(way, address, port, site),
            "icmp": lambda: self._icmp(address),
        }
        return await self._tried(way, asks[way]())

    async def _tried(self, way: Way, asking: Awaitable[Sounding]) -> Sounding:
        """What asking brought, be it a failure."""
        try:
            return await asking
        except TimeoutError:
            detail = f"no answer within {self._settings.patience_ms} ms"
            return Sounding(way=way, silence=Silence.TIMED_OUT, detail=detail)
        except OSError as error:
            timed_out = error.errno in (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)
            silence = Silence.TIMED_OUT if timed_out else Silence.REFUSED
            return Sounding(way=way, silence=silence, detail=error.strerror or str(error))

    async def _meet(self, address: IPAddress) -> Sounding:
        """Knock at a machine's door, where being turned away is an answer."""
        started_at = monotonic()
        try:
            return await self._connect(address, HOST_PORT)
        except ConnectionRefusedError:
            return Sounding(way="connect", round_trip_ms=(monotonic() - started_at) * 1000)

    async def _connect(self, address: IPAddress, port: int) -> Sounding:
        with new_socket(address, self._source_address) as plug:
            started_at = monotonic()
            async with asyncio.timeout(self._settings.patience_ms / 1000):
                await asyncio.get_running_loop().sock_connect(plug, (str(address), port))
            connect_ms = (monotonic() - started_at) * 1000
            measured = kernel_round_trip.round_trip_ms(plug)
        return Sounding(way="connect", round_trip_ms=connect_ms if measured is None else measured)

    async def _head(self, way: Way, address: IPAddress, port: int, site: str) -> Sounding:
        """By HEAD: the kernel's round trip, or ("answer") the one that the answer shows.

        The latter has the server's thinking in it, and is the only one that sees behind a proxy.
        """
        if self._fetcher is None:
            return Sounding(way=way, silence=Silence.REFUSED, detail="no fetcher to ask with")
        url = f"{site or _site_at(address, port)}/"
        outcome = await self._fetcher.fetch(FetchRequest(url=url, method="HEAD"))
        self._passive.saw(outcome)
        if outcome.address != address:
            detail = f"{url} is at {outcome.address} now"
            return Sounding(way=way, silence=Silence.REFUSED, detail=detail)
        if not isinstance(outcome, FetchFailed):
            return Sounding(way=way, round_trip_ms=round_trip_in(outcome, way == "answer"))
        if outcome.kind is FailureKind.CLOSED:
            return Sounding(way=way, silence=Silence.CRAWLER_GONE, detail=outcome.detail)
        silence = Silence.TIMED_OUT if outcome.kind in _TIMEOUTS else Silence.REFUSED
        if outcome.round_trip_ms is not None and way == "head":
            return Sounding(way=way, round_trip_ms=outcome.round_trip_ms)
        return Sounding(way=way, silence=silence, detail=outcome.detail)

    async def _icmp(self, address: IPAddress) -> Sounding:
        return Sounding(way="icmp", round_trip_ms=await echo_ms(address, self._settings.patience_ms))


def _site_at(address: IPAddress, port: int) -> str:
    name = f"[{address}]" if address.version == 6 else str(address)
    return f"http://{name}" if port == 80 else f"https://{name}:{port}"


def _least_first(sounding: Sounding) -> float:
    return float("inf") if sounding.round_trip_ms is None else sounding.round_trip_ms


def _unseen() -> Sounding:
    return Sounding(way="passive", silence=Silence.TIMED_OUT, detail="no fetch has been there lately")

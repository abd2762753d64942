"""An address and a port -> a probe outcome: what fetches have shown, else the first method that
succeeds.

Invariant: never a packet to an address that the guard denies. A connection is closed as soon as it is
established. A refused connection is not a round trip: a firewall on the way may have refused it.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from time import monotonic

from ipmicra.addresses import IPAddress
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetcher, FetchFailed, FetchRequest
from ipmicra.model.probes import NoAnswer
from ipmicra.net import kernel_round_trip
from ipmicra.net.address_guard import AddressGuard
from ipmicra.net.tcp_connector import new_socket
from ipmicra.probing.icmp import echo_ms
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.probing.result import ProbeOutcome, round_trip_in
from ipmicra.probing.settings import ProbeMethod, ProbingSettings

_TIMEOUTS = frozenset(
    {FailureKind.CONNECT_TIMEOUT, FailureKind.SILENT, FailureKind.TOO_SLOW, FailureKind.TOO_LONG}
)


HOST_PORT = 443  # of a machine that is not a web server: most refuse there, few drop the packet


class Prober:
    """Measures round trips from this machine. `fetcher` is needed for HEAD only."""

    def __init__(
        self,
        settings: ProbingSettings,
        guard: AddressGuard,
        passive: PassiveRoundTrips | None = None,
        fetcher: Fetcher | None = None,
        source_address: str = "",
    ) -> None:
        self._settings = settings
        self._guard = guard
        self._passive = passive or PassiveRoundTrips(settings)
        self._fetcher = fetcher
        self._source_address = source_address

    async def probe(self, address: IPAddress, port: int = 443, site: str = "") -> ProbeOutcome:
        """The round trip to an address. `site`, such as https://example.org, is the site that HEAD
        requests.
        """
        known = self._passive.recent(address)
        if known is not None:
            return known
        outcome = ProbeOutcome(
            method="connect", silence=NoAnswer.REFUSED, detail="no probe method is set"
        )
        for method in self._settings.ways:
            outcome = await self.probe_with(method, address, port, site)
            if outcome.round_trip_ms is not None:
                break
        return outcome

    async def probe_host(self, address: IPAddress) -> ProbeOutcome:
        """The round trip to a machine that need not serve anything: a refusal counts as an answer.

        Not available where round trips are taken from responses: the refusal may come from a machine
        near by.
        """
        if self._settings.by_answers:
            return ProbeOutcome(
                method="answer", silence=NoAnswer.REFUSED, detail="a host cannot be probed by responses"
            )
        known = self._passive.recent(address)
        if known is not None:
            return known
        if (refusal := self._guard.denial_reason(address)) is not None:
            return ProbeOutcome(method="connect", silence=NoAnswer.REFUSED, detail=refusal)
        outcome = await self._outcome_of("connect", self._meet(address))
        if outcome.round_trip_ms is None and "icmp" in self._settings.ways:
            return await self.probe_with("icmp", address)
        return outcome

    async def probe_with(
        self, method: ProbeMethod, address: IPAddress, port: int = 443, site: str = ""
    ) -> ProbeOutcome:
        """The smallest round trip of the tries, by this one method."""
        refusal = self._guard.denial_reason(address) or self._guard.port_denial_reason(port)
        if refusal is not None:
            return ProbeOutcome(method=method, silence=NoAnswer.REFUSED, detail=refusal)
        if method == "passive":
            return self._passive.recent(address) or _unseen()
        tries = [
            await self._try(method, address, port, site) for _ in range(max(1, self._settings.tries))
        ]
        return min(tries, key=_least_first)

    async def _try(self, method: ProbeMethod, address: IPAddress, port: int, site: str) -> ProbeOutcome:
        asks: dict[ProbeMethod, Callable[[], Awaitable[ProbeOutcome]]] = {
            "connect": lambda: self._connect(address, port),
            "head": lambda: self._head(method, address, port, site),
            "answer": lambda: self._head(method, address, port, site),
            "icmp": lambda: self._icmp(address),
        }
        return await self._outcome_of(method, asks[method]())

    async def _outcome_of(self, method: ProbeMethod, asking: Awaitable[ProbeOutcome]) -> ProbeOutcome:
        """The outcome, also for a failure."""
        try:
            return await asking
        except TimeoutError:
            detail = f"no answer within {self._settings.patience_ms} ms"
            return ProbeOutcome(method=method, silence=NoAnswer.TIMED_OUT, detail=detail)
        except OSError as error:
            timed_out = error.errno in (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)
            silence = NoAnswer.TIMED_OUT if timed_out else NoAnswer.REFUSED
            return ProbeOutcome(method=method, silence=silence, detail=error.strerror or str(error))

    async def _meet(self, address: IPAddress) -> ProbeOutcome:
        """Connect to a machine, where a refusal is an answer too."""
        started_at = monotonic()
        try:
            return await self._connect(address, HOST_PORT)
        except ConnectionRefusedError:
            return ProbeOutcome(method="connect", round_trip_ms=(monotonic() - started_at) * 1000)

    async def _connect(self, address: IPAddress, port: int) -> ProbeOutcome:
        with new_socket(address, self._source_address) as sock:
            started_at = monotonic()
            async with asyncio.timeout(self._settings.patience_ms / 1000):
                await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
            connect_ms = (monotonic() - started_at) * 1000
            measured = kernel_round_trip.round_trip_ms(sock)
        return ProbeOutcome(method="connect", round_trip_ms=connect_ms if measured is None else measured)

    async def _head(self, method: ProbeMethod, address: IPAddress, port: int, site: str) -> ProbeOutcome:
        """By HEAD: the kernel's round trip, or ("answer") the one that the response shows.

        The latter includes the server's processing time, and is the only one that sees behind a proxy.
        """
        if self._fetcher is None:
            return ProbeOutcome(
                method=method, silence=NoAnswer.REFUSED, detail="there is no fetcher for HEAD"
            )
        url = f"{site or _site_at(address, port)}/"
        outcome = await self._fetcher.fetch(FetchRequest(url=url, method="HEAD"))
        self._passive.record_outcome(outcome)
        if outcome.address != address:
            detail = f"{url} is at {outcome.address} now"
            return ProbeOutcome(method=method, silence=NoAnswer.REFUSED, detail=detail)
        if not isinstance(outcome, FetchFailed):
            return ProbeOutcome(method=method, round_trip_ms=round_trip_in(outcome, method == "answer"))
        if outcome.kind is FailureKind.CLOSED:
            return ProbeOutcome(method=method, silence=NoAnswer.CRAWLER_GONE, detail=outcome.detail)
        silence = NoAnswer.TIMED_OUT if outcome.kind in _TIMEOUTS else NoAnswer.REFUSED
        if outcome.round_trip_ms is not None and method == "head":
            return ProbeOutcome(method=method, round_trip_ms=outcome.round_trip_ms)
        return ProbeOutcome(method=method, silence=silence, detail=outcome.detail)

    async def _icmp(self, address: IPAddress) -> ProbeOutcome:
        return ProbeOutcome(
            method="icmp", round_trip_ms=await echo_ms(address, self._settings.patience_ms)
        )


def _site_at(address: IPAddress, port: int) -> str:
    name = f"[{address}]" if address.version == 6 else str(address)
    return f"http://{name}" if port == 80 else f"https://{name}:{port}"


def _least_first(outcome: ProbeOutcome) -> float:
    return float("inf") if outcome.round_trip_ms is None else outcome.round_trip_ms


def _unseen() -> ProbeOutcome:
    return ProbeOutcome(
        method="passive", silence=NoAnswer.TIMED_OUT, detail="no recent fetch from this address"
    )

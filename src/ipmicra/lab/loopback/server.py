"""Generated sites and delays -> web servers on loopback addresses.

One task serves all sites, each on its own address. Before an answer the server waits the round trip
between the address that asks and the site; on a connection's first request one more, for the handshake
that the kernel has done at once. Every request is written to an access log in memory: client, URL and
time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from types import TracebackType
from typing import NamedTuple, Self

from ipmicra.errors import HostFault
from ipmicra.lab.loopback.answers import answer_to
from ipmicra.lab.loopback.names import NameServer
from ipmicra.lab.loopback.pages import MadeSite

RoundTrip = Callable[[IPv4Address, str], float]  # address that asks, site's name -> ms


class Asked(NamedTuple):
    """One line of the access log."""

    at_s: float
    by: str
    site: str
    method: str
    path: str
    status: int


@dataclass
class LoopbackWeb:
    """Serve the sites while the context is open."""

    sites: Mapping[IPv4Address, MadeSite]
    port: int
    round_trip_ms: RoundTrip = lambda _address, _site: 0.0
    names_port: int | None = None  # serve DNS there, on 127.0.0.1
    log: list[Asked] = field(default_factory=list)
    _servers: list[asyncio.Server] = field(default_factory=list)
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _names: asyncio.DatagramTransport | None = None

    async def __aenter__(self) -> Self:
        try:
            for address, site in self.sites.items():
                serve = lambda reader, writer, site=site: self._serve(site, reader, writer)  # noqa: E731 - a site each
                self._servers.append(await asyncio.start_server(serve, str(address), self.port))
            if self.names_port is not None:
                await self._serve_names(self.names_port)
        except OSError as error:
            await self._close()
            raise HostFault(f"serving a made-up web on loopback, port {self.port}: {error}") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _serve_names(self, port: int) -> None:
        table = {site.name: (address,) for address, site in self.sites.items()}
        loop = asyncio.get_running_loop()
        self._names, _ = await loop.create_datagram_endpoint(
            lambda: NameServer(lambda _asker: table.get), local_addr=("127.0.0.1", port)
        )

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for writer in list(self._open):
            writer.close()
        if self._names is not None:
            self._names.close()

    async def _serve(
        self, site: MadeSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        asker = IPv4Address(writer.get_extra_info("peername")[0])
        round_trips = 2  # the handshake's and the request's; one from the second request on
        self._open.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(self.round_trip_ms(asker, site.name) * round_trips / 1000)
                round_trips = 1
                writer.write(self._answer(site, str(asker), head))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        except asyncio.CancelledError:
            pass  # the loop ends; asyncio's streams of Python 3.11 would log it as an error
        finally:
            self._open.discard(writer)
            writer.close()

    def _answer(self, site: MadeSite, asker: str, head: bytes) -> bytes:
        answer = answer_to(site, head)
        now_s = asyncio.get_running_loop().time()
        self.log.append(Asked(now_s, asker, site.name, answer.method, answer.path, answer.status))
        return answer.data

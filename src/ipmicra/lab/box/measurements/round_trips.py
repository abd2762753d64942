"""Round trips that were asked -> round trips as TCP sees them: to connect, to the first byte, by the kernel.

One crawler for each round trip, one site; every crawler opens connections at an even pace, and asks on each
a few times with pauses between, so that many connections are open at the same time.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ipmicra.errors import OurFault
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.world.box_world import (
    BoxCoordinator,
    BoxCrawler,
    BoxPlace,
    BoxSite,
    BoxWorld,
    Stand,
    WorldFile,
)
from ipmicra.net.kernel_round_trip import round_trip_ms

SITE, ADDRESS = "site.example", "40.0.0.1"
REQUEST = f"GET /robots.txt HTTP/1.1\r\nHost: {SITE}\r\n\r\n".encode()
ANSWER_BYTES_MAX = 4_096
PATIENCE_S = 10.0


class RoundTripMeasurement(NamedTuple):
    """Medians and 95th percentiles of one crawler's measurements, in ms."""

    asked_ms: float
    connections: int
    connect_ms: float
    connect_p95_ms: float
    first_byte_ms: float
    first_byte_p95_ms: float
    kernel_ms: float
    kernel_p95_ms: float

    @property
    def worst_error_ms(self) -> float:
        """Of the three medians, how far the worst is from what was asked."""
        medians = (self.connect_ms, self.first_byte_ms, self.kernel_ms)
        return max(abs(ms - self.asked_ms) for ms in medians)


class _Once(NamedTuple):
    connect_ms: float
    first_byte_ms: list[float]
    kernel_ms: float


def ruler(asked_ms: Sequence[float]) -> BoxWorld:
    """A world with one site, and a crawler at each of these round trips from it."""
    places = ["home", *(f"at-{ms:g}-ms" for ms in asked_ms)]
    matrix = np.full((len(places), len(places)), 50.0)
    matrix[0, 1:] = matrix[1:, 0] = asked_ms
    np.fill_diagonal(matrix, 0.5)
    file = WorldFile(
        name="ruler",
        places=tuple(BoxPlace(name=name) for name in places),
        coordinator=BoxCoordinator(place="home", addresses=("30.0.0.1",)),
        crawlers=tuple(
            BoxCrawler(name=name, place=name, addresses=(f"20.0.{number}.1",))
            for number, name in enumerate(places[1:])
        ),
        sites=(BoxSite(name=SITE, stands=(Stand(places=("home",), addresses=(ADDRESS,)),)),),
    )
    return BoxWorld(file, matrix)


async def measure(
    box: NetworkBox, connections: int, asks: int = 3, spread_s: float = 2.0, pause_s: float = 0.0
) -> list[RoundTripMeasurement]:
    """Open the given number of connections from every crawler, evenly over `spread_s`."""
    crawlers, site = box.world.file.crawlers, box.world.file.sites[0]
    count = connections * len(crawlers)
    visits = [
        _visit(box, crawlers[number % len(crawlers)].name, number * spread_s / count, asks, pause_s)
        for number in range(count)
    ]
    found = await asyncio.gather(*visits)
    return [
        _summed(box.world.crawler_to_site_ms(crawler, site), found[number :: len(crawlers)])
        for number, crawler in enumerate(crawlers)
    ]


async def _visit(box: NetworkBox, crawler: str, wait_s: float, asks: int, pause_s: float) -> _Once:
    await asyncio.sleep(wait_s)
    loop = asyncio.get_running_loop()
    with box.crawler(crawler).socket(socket.AF_INET, socket.SOCK_STREAM) as plug:
        plug.setblocking(False)
        async with asyncio.timeout(PATIENCE_S + asks * (pause_s + 1)):
            began = time.monotonic()
            await loop.sock_connect(plug, (ADDRESS, 80))
            connect_ms = (time.monotonic() - began) * 1e3
            first_byte_ms = []
            for _ in range(asks):
                await asyncio.sleep(pause_s)
                began = time.monotonic()
                await loop.sock_sendall(plug, REQUEST)
                answer = await loop.sock_recv(plug, ANSWER_BYTES_MAX)
                first_byte_ms.append((time.monotonic() - began) * 1e3)
                if not answer.startswith(b"HTTP/1.1 200"):
                    raise OurFault(f"the box's site answered {answer[:40]!r}")
        kernel_ms = round_trip_ms(plug)
    assert kernel_ms is not None, "Linux has TCP_INFO"
    return _Once(connect_ms, first_byte_ms, kernel_ms)


def _summed(asked_ms: float, visits: Sequence[_Once]) -> RoundTripMeasurement:
    connect = [visit.connect_ms for visit in visits]
    first = [ms for visit in visits for ms in visit.first_byte_ms]
    kernel = [visit.kernel_ms for visit in visits]
    figures = [float(np.percentile(ms, share)) for ms in (connect, first, kernel) for share in (50, 95)]
    return RoundTripMeasurement(asked_ms, len(visits), *figures)

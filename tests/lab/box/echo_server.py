"""A small world with known round trips, a server for it, and one round trip measured in three ways."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.kernel.namespace import Namespace
from ipmicra.lab.box.kernel.priority import in_real_time
from ipmicra.lab.box.processes.control_channel import SERVER_PRIORITY
from ipmicra.lab.box.world.box_world import (
    AccessLink,
    BoxCoordinator,
    BoxCrawler,
    BoxPlace,
    BoxSite,
    BoxWorld,
    Stand,
    WorldFile,
)
from ipmicra.net.kernel_round_trip import round_trip_ms

BODY_BYTES = 200_000


class Measured(NamedTuple):
    connect_ms: float
    first_byte_ms: float
    kernel_ms: float


def world_of(round_trips_ms: list[float], **changed: object) -> BoxWorld:
    """One site; a crawler for each round trip to it. The first is slow, the last is called from outside."""
    count = len(round_trips_ms)
    names = ["here", *(f"place-{number}" for number in range(count))]
    matrix = np.full((count + 1, count + 1), 50.0)
    matrix[0, 1:] = matrix[1:, 0] = round_trips_ms
    np.fill_diagonal(matrix, 0.5)
    crawlers = tuple(
        BoxCrawler(
            name=f"crawler-{number}",
            place=f"place-{number}",
            addresses=(f"20.0.{number}.1", f"2600:0:1400:{number + 1:x}::1"),
            nat=number < count - 1,
            link=AccessLink(down_mbit=4.0) if number == 0 else AccessLink(),
        )
        for number in range(count)
    )
    stand = Stand(places=("here",), addresses=("40.0.0.0/24", "2600:0:2800::/64"))
    fields: dict[str, object] = {
        "name": "echoing",
        "places": tuple(BoxPlace(name=name) for name in names),
        "coordinator": BoxCoordinator(place="here", addresses=("30.0.0.1",)),
        "crawlers": crawlers,
        "sites": (BoxSite(name="site.example", stands=(stand,)),),
    }
    return BoxWorld(WorldFile(**{**fields, **changed}), matrix)  # type: ignore[arg-type]  # fields by name


@contextmanager
def serving(where: Namespace, port: int = 80) -> Iterator[None]:
    """Answers b"big" with many bytes, anything else with what was sent, on all addresses in there."""
    listener = where.socket(socket.AF_INET6, socket.SOCK_STREAM)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::", port))
    listener.listen(100)

    def serve() -> None:
        in_real_time(SERVER_PRIORITY)
        while True:
            try:
                plug, _ = listener.accept()
            except OSError:
                return
            with plug:
                asked = plug.recv(1_000)
                plug.sendall(b"x" * BODY_BYTES if asked == b"big" else asked)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def connected(where: Namespace, address: str, port: int = 80, patience_s: float = 5.0) -> socket.socket:
    plug = where.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    plug.settimeout(patience_s)
    try:
        plug.connect((address, port))
    except OSError:
        plug.close()
        raise
    return plug


def measured(box: NetworkBox, crawler: str, address: str) -> Measured:
    began = time.monotonic()
    with connected(box.crawler(crawler), address) as plug:
        stood = time.monotonic()
        plug.sendall(b"hello")
        assert plug.recv(100) == b"hello"
        answered = time.monotonic()
        kernel_ms = round_trip_ms(plug)
    assert kernel_ms is not None
    return Measured((stood - began) * 1e3, (answered - stood) * 1e3, kernel_ms)

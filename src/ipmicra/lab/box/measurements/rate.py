"""Packets sent per second -> the number that arrived, and their one-way delays.

    python -m ipmicra.lab.box.measurements.rate ADDRESS PORT PACKETS_A_SECOND SECONDS

is the sender, in its own namespace; each datagram carries the time it was sent at.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.kernel.priority import in_real_time
from ipmicra.lab.box.measurements.round_trips import ADDRESS
from ipmicra.lab.box.processes.control_channel import MEASURER_PRIORITY

PORT = 9_000
PAYLOAD_BYTES = 64
SLICE_S = 0.001  # the sender wakes that often and sends what is due
BUFFER_BYTES = 64 << 20
QUIET_S = 1.0
SO_RCVBUFFORCE = 33  # Linux; the socket module does not name it
_SENT_AT = struct.Struct("d")


class PacketRate(NamedTuple):
    """The result of a stream of datagrams."""

    sent_a_second: int
    sent: int
    received: int
    asked_one_way_ms: float
    one_way_ms: float
    one_way_p99_ms: float


def carried(box: NetworkBox, packets_a_second: int, seconds: float) -> PacketRate:
    """From the first crawler to the site."""
    crawler = box.world.file.crawlers[0]
    with box.sites.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        plug.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        plug.bind((ADDRESS, PORT))
        plug.settimeout(QUIET_S)
        line = [sys.executable, "-m", __name__, ADDRESS, str(PORT), str(packets_a_second), str(seconds)]
        sender = box.crawler(crawler.name).start(line, stdout=subprocess.PIPE)
        delays_ms = _received(plug, sender)
        output = sender.communicate()[0]
    asked_ms = box.world.crawler_to_site_ms(crawler, box.world.file.sites[0]) / 2
    middle, late = (float(np.percentile(delays_ms, share)) for share in (50, 99))
    return PacketRate(packets_a_second, int(output), len(delays_ms), asked_ms, middle, late)


def _received(plug: socket.socket, sender: subprocess.Popen[bytes]) -> list[float]:
    """Delays of all datagrams until the sender is gone and the wire is quiet."""
    delays_ms: list[float] = []
    while True:
        try:
            data = plug.recv(2_048)
        except TimeoutError:
            if sender.poll() is not None:
                return delays_ms
        else:
            delays_ms.append((time.monotonic() - _SENT_AT.unpack_from(data)[0]) * 1e3)


def send(address: str, port: int, packets_a_second: int, seconds: float) -> int:
    """Evenly, in slices; returns how many."""
    in_real_time(MEASURER_PRIORITY)
    rest = bytes(PAYLOAD_BYTES - _SENT_AT.size)
    sent, total, began = 0, int(packets_a_second * seconds), time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        plug.connect((address, port))
        while sent < total:
            due = min(total, int((time.monotonic() - began) * packets_a_second))
            while sent < due:
                plug.send(_SENT_AT.pack(time.monotonic()) + rest)
                sent += 1
            time.sleep(SLICE_S)
    return sent


if __name__ == "__main__":
    _, to, at, rate, length = sys.argv
    sys.stdout.write(str(send(to, int(at), int(rate), float(length))))

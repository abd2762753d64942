"""Messages between the box and its router's process: length-prefixed MessagePack on a socket."""

from __future__ import annotations

import socket
import struct
from typing import TypeVar

import msgspec

from ipmicra.lab.box.network.lateness import Lateness
from ipmicra.lab.box.network.plan import NetworkFault

# Priorities of SCHED_FIFO: the order of processes on a busy machine.
ROUTER_PRIORITY, MEASURER_PRIORITY, SERVER_PRIORITY = 20, 10, 9

_LENGTH = struct.Struct(">I")
RouterMessage = TypeVar("RouterMessage")


class RouterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request; the answer is a Report of the state after it."""

    begin: bool = False  # the plan's faults count from now
    heal: bool = False  # all faults end
    faults: tuple[NetworkFault, ...] = ()  # from now on


class Sent(msgspec.Struct, frozen=True):
    """The traffic from one endpoint to another."""

    source: str
    destination: str
    packets: int
    packet_bytes: int


class RouterReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the router did so far, and how late it was."""

    late: Lateness
    away: Lateness  # how long it did not look at its wires, each time
    dropped: dict[str, int]
    sent: list[Sent]
    real_time: bool  # had SCHED_FIFO
    cpu_s: float

    @property
    def packets(self) -> int:
        return sum(each.packets for each in self.sent)


class Channel:
    """Messages over a stream socket, in order."""

    def __init__(self, plug: socket.socket) -> None:
        self._plug = plug

    def fileno(self) -> int:
        return self._plug.fileno()

    def send(self, message: object) -> None:
        data = msgspec.msgpack.encode(message)
        self._plug.sendall(_LENGTH.pack(len(data)) + data)

    def received(self, kind: type[RouterMessage]) -> RouterMessage | None:
        """The next message; None when the other side is gone."""
        head = self._exactly(_LENGTH.size)
        if head is None:
            return None
        data = self._exactly(_LENGTH.unpack(head)[0])
        return None if data is None else msgspec.msgpack.decode(data, type=kind)

    def _exactly(self, count: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            try:
                piece = self._plug.recv(count - len(parts))
            except ConnectionError:
                return None
            if not piece:
                return None
            parts += piece
        return bytes(parts)

"""Packets arriving at a link of limited rate -> when each has left it, or that it was dropped.

Invariant: first in, first out; a packet that would wait longer than the queue is long is dropped (drop-tail).
"""

from __future__ import annotations


class DropTail:
    """One direction of an access link. Ask in order of time."""

    def __init__(self, bytes_per_s: float, queue_s: float) -> None:
        assert bytes_per_s > 0, "a link without limit needs no queue"
        self._s_per_byte = 1.0 / bytes_per_s
        self._queue_s = queue_s
        self._free_at_s = 0.0

    def leaves_at(self, at_s: float, packet_bytes: int) -> float | None:
        """When the last byte is through; None: the queue was full."""
        begins_at_s = max(at_s, self._free_at_s)
        if begins_at_s - at_s > self._queue_s:
            return None
        self._free_at_s = begins_at_s + packet_bytes * self._s_per_byte
        return self._free_at_s


def queue_of(bytes_per_s: float, queue_s: float) -> DropTail | None:
    return DropTail(bytes_per_s, queue_s) if bytes_per_s else None

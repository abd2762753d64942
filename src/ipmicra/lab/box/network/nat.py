"""Packets leaving a crawler behind NAT -> which packets from outside may reach it.

A NAT as crawlers see it: no connection and no ping from outside, datagrams only in answer to the
crawler's own. Addresses are not rewritten: each crawler has its own public address.
"""

from __future__ import annotations

from ipmicra.lab.box.network.packets import Flow, flow_of, is_call

FLOW_S_MAX = 120.0  # a silent flow is forgotten (RFC 4787 asks for two minutes at least)
FLOWS_MAX = 10_000


class NatTable:
    """Remembers the datagrams that went out."""

    def __init__(self) -> None:
        self._flows: dict[Flow, float] = {}

    def went_out(self, packet: bytes, now_s: float) -> None:
        flow = flow_of(packet, outward=True)
        if flow is not None:
            self._flows.pop(flow, None)
            self._flows[flow] = now_s  # the longest silent is first
            if len(self._flows) > FLOWS_MAX:
                del self._flows[next(iter(self._flows))]

    def lets_in(self, packet: bytes, now_s: float) -> bool:
        flow = flow_of(packet, outward=False)
        if flow is None:
            return not is_call(packet)
        return now_s - self._flows.get(flow, float("-inf")) <= FLOW_S_MAX

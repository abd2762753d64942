"""A question for a connection -> why it is refused, or None.

Law: the owner's hours and bytes first, then the port, then the very address. What the crawler says about a
name counts for nothing: an address is good for a name only if name servers said so to the broker.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.host.broker.onlink import OnlinkRoute, is_neighbour, routes
from ipmicra.model.failures import FailureKind
from ipmicra.net.address_guard import AddressGuard
from ipmicra.net.target import literal_address
from ipmicra.protocol.broker_messages import Connect

NAMES_REMEMBERED = 100_000
ROUTES_SECONDS = 30.0  # how long the routing tables are taken to be the same


class ConnectRefusal(NamedTuple):
    kind: FailureKind
    why: str
    is_notable: bool = True  # worth a line in the log: honest code does not ask for it


class ConnectPolicy:
    """Says where connections may go."""

    def __init__(
        self,
        settings: FetchingSettings,
        reason_to_rest: Callable[[], str | None],
        read_routes: Callable[[], list[OnlinkRoute]] = routes,
    ) -> None:
        self._guard = AddressGuard(settings.open_ranges, settings.closed_ranges, settings.open_ports)
        self._opened = [AddressRange.parse(text) for text in settings.open_ranges]
        self._reason_to_rest, self._read_routes = reason_to_rest, read_routes
        self._said: OrderedDict[str, frozenset[IPAddress]] = OrderedDict()
        self._routes: list[OnlinkRoute] = []
        self._routes_read_at = float("-inf")

    def resting(self) -> ConnectRefusal | None:
        rest = self._reason_to_rest()
        return (
            None if rest is None else ConnectRefusal(FailureKind.NO_NETWORK, f"this host {rest}", False)
        )

    def name_servers_said(self, name: str, addresses: Iterable[IPAddress]) -> None:
        self._said[name] = frozenset(addresses)
        self._said.move_to_end(name)
        if len(self._said) > NAMES_REMEMBERED:
            self._said.popitem(last=False)

    def judge(self, ask: Connect) -> ConnectRefusal | IPAddress:
        """The address to connect to, or why not to."""
        try:
            address = ipaddress.ip_address(ask.address)
        except ValueError:
            return ConnectRefusal(FailureKind.REFUSED_ADDRESS, "that is no address")
        refusal = self.resting()
        if refusal is not None:
            return refusal
        why = self._guard.port_refusal(ask.port) if 0 < ask.port < 65_536 else "there is no such port"
        if why is not None:
            return ConnectRefusal(FailureKind.REFUSED_PORT, why)
        why = self._guard.refusal(address) or self._other_reason(ask.name, address)
        return address if why is None else ConnectRefusal(FailureKind.REFUSED_ADDRESS, why)

    def _other_reason(self, name: str, address: IPAddress) -> str | None:
        if literal_address(name) != address and address not in self._said.get(name, ()):
            return f"no name server said that {name} is at {address}"
        if any(opened.holds(address) for opened in self._opened):
            return None
        if is_neighbour(address, self._current_routes()):
            return f"{address} is a neighbour of this machine"
        return None

    def _current_routes(self) -> list[OnlinkRoute]:
        now = time.monotonic()
        if now - self._routes_read_at > ROUTES_SECONDS:
            self._routes, self._routes_read_at = self._read_routes(), now
        return self._routes

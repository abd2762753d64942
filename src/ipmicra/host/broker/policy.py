"""A request for a connection -> why it is refused, or None.

Invariant: the owner's hours and bytes are checked first, then the port, then the exact address. A
crawler's statement about a name is ignored: an address belongs to a name only if the broker's own name
servers confirm it.
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
ROUTES_SECONDS = 30.0  # how long the routing tables are cached


class ConnectRefusal(NamedTuple):
    kind: FailureKind
    why: str
    is_notable: bool = True  # worth a log line: honest code does not ask for it


class ConnectPolicy:
    """Decides where connections may go."""

    def __init__(
        self,
        settings: FetchingSettings,
        blocked_reason: Callable[[], str | None],
        read_routes: Callable[[], list[OnlinkRoute]] = routes,
    ) -> None:
        self._guard = AddressGuard(settings.open_ranges, settings.closed_ranges, settings.open_ports)
        self._opened = [AddressRange.parse(text) for text in settings.open_ranges]
        self._blocked_reason, self._read_routes = blocked_reason, read_routes
        self._resolved: OrderedDict[str, frozenset[IPAddress]] = OrderedDict()
        self._routes: list[OnlinkRoute] = []
        self._routes_read_at = float("-inf")

    def paused(self) -> ConnectRefusal | None:
        reason = self._blocked_reason()
        return (
            None
            if reason is None
            else ConnectRefusal(FailureKind.NO_NETWORK, f"this host {reason}", False)
        )

    def record_resolution(self, name: str, addresses: Iterable[IPAddress]) -> None:
        self._resolved[name] = frozenset(addresses)
        self._resolved.move_to_end(name)
        if len(self._resolved) > NAMES_REMEMBERED:
            self._resolved.popitem(last=False)

    def decide(self, request: Connect) -> ConnectRefusal | IPAddress:
        """The address to connect to, or the reason why not."""
        try:
            address = ipaddress.ip_address(request.address)
        except ValueError:
            return ConnectRefusal(FailureKind.REFUSED_ADDRESS, "that is not an address")
        refusal = self.paused()
        if refusal is not None:
            return refusal
        why = (
            self._guard.port_denial_reason(request.port)
            if 0 < request.port < 65_536
            else "there is no such port"
        )
        if why is not None:
            return ConnectRefusal(FailureKind.REFUSED_PORT, why)
        why = self._guard.denial_reason(address) or self._denial_reason(request.name, address)
        return address if why is None else ConnectRefusal(FailureKind.REFUSED_ADDRESS, why)

    def _denial_reason(self, name: str, address: IPAddress) -> str | None:
        if literal_address(name) != address and address not in self._resolved.get(name, ()):
            return f"no name server says that {name} is at {address}"
        if any(opened.holds(address) for opened in self._opened):
            return None
        if is_neighbour(address, self._current_routes()):
            return f"{address} is on this machine's own network"
        return None

    def _current_routes(self) -> list[OnlinkRoute]:
        now = time.monotonic()
        if now - self._routes_read_at > ROUTES_SECONDS:
            self._routes, self._routes_read_at = self._read_routes(), now
        return self._routes

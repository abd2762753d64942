"""A site's name -> its addresses with their time to live, asked of name servers.

Invariant: an answer is only what DNS (or the machine's hosts file) says; whether we may connect there is
the guard's business. Failures are of two kinds: the name has no address, or no server gave an answer.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import aiodns
import pycares

from ipmicra.addresses import IPAddress

QUERY_SECONDS_MAX = 3.0  # per try and server; c-ares tries each server again
QUERY_TRIES = 3
_NO_NAME_ERRORS = frozenset({aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_ENODATA})


class DnsAnswer(NamedTuple):
    addresses: tuple[IPAddress, ...]
    ttl_seconds: float


class NoSuchName(Exception):
    """The name does not exist, or it has no address."""


class NamesUnreachable(Exception):
    """No name server gave a usable answer."""


class Resolver(Protocol):
    """Names to addresses; raises NoSuchName or NamesUnreachable."""

    async def resolve(self, name: str) -> DnsAnswer: ...

    async def close(self) -> None: ...


class DnsResolver:
    """The machine's name servers, or the given ones, through c-ares."""

    def __init__(self, servers: Sequence[str] = ()) -> None:
        self._ares = aiodns.DNSResolver(
            nameservers=list(servers) or None,
            timeout=QUERY_SECONDS_MAX,
            tries=QUERY_TRIES,
            flags=pycares.ARES_FLAG_NOSEARCH,
        )

    async def resolve(self, name: str) -> DnsAnswer:
        try:
            found = await self._ares.getaddrinfo(name, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            if error.args and error.args[0] in _NO_NAME_ERRORS:
                raise NoSuchName(f"{name} has no address") from error
            raise NamesUnreachable(f"cannot look up {name}: {error.args[-1]}") from error
        if not found.nodes:
            raise NoSuchName(f"{name} has no address")
        addresses = {_address(node): None for node in found.nodes}
        return DnsAnswer(tuple(addresses), min(node.ttl for node in found.nodes))

    async def close(self) -> None:
        await self._ares.close()


def _address(node: pycares.AddrInfoNode) -> IPAddress:
    text = node.addr[0]
    return ipaddress.ip_address(text.decode("ascii") if isinstance(text, bytes) else text)

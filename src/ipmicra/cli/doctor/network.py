"""The coordinator's port and the name servers -> whether they can be used."""

from __future__ import annotations

import asyncio
import ipaddress
import urllib.parse

from ipmicra.cli.doctor.finding import Result, ok, problem, warning
from ipmicra.cli.doctor.installation import Installation
from ipmicra.cli.options.listen_option import LISTEN, address_to_call, parse_listen
from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.errors import Fault
from ipmicra.net.dns_resolver import DnsResolver, NamesUnreachable, NoSuchName
from ipmicra.net.listener import listening_socket

RESOLVE_SECONDS_MAX = 3.0
ANSWER_SECONDS = 3.0
KNOWN_NAME = "example.com"  # reserved by RFC 2606, and always there


def check_port(installation: Installation) -> Result:
    listen = installation.listen or LISTEN
    address, port = parse_listen(listen)
    try:
        listening_socket(address, port, "--listen").close()
    except Fault as fault:
        if _is_coordinator(address_to_call(listen)):
            return ok(f"{listen} is in use by a running coordinator")
        needed = installation.is_coordinator or installation.listen is not None
        advice = "stop the other program, or run the coordinator with another --listen"
        return problem(str(fault), advice) if needed else warning(str(fault), advice)
    return ok(f"{listen} is free")


def _is_coordinator(address: str) -> bool:
    try:
        CoordinatorClient(address, patience_s=ANSWER_SECONDS).status()
    except Exception:  # a stranger may answer anything
        return False
    return True


def check_resolver(installation: Installation) -> Result:
    servers = installation.settings.fetching.dns_servers
    name = _name_to_resolve(installation)
    whose = f"the name servers {', '.join(servers)}" if servers else "the name servers of this machine"
    try:
        asyncio.run(_resolve(servers, name))
    except NoSuchName:
        return ok(f"{whose} answer: there is no {name}")
    except (NamesUnreachable, TimeoutError) as error:
        why = str(error) or f"no answer about {name} within {RESOLVE_SECONDS_MAX:g} s"
        return problem(
            f"{whose} do not answer: {why}",
            "correct /etc/resolv.conf or fetching.dns_servers, and let UDP port 53 out",
        )
    return ok(f"{whose} know {name}")


def _name_to_resolve(installation: Installation) -> str:
    """The coordinator's, where it has a name: that one is needed."""
    host = urllib.parse.urlsplit(installation.coordinator_address).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host if host not in ("", "localhost") else KNOWN_NAME
    return KNOWN_NAME


async def _resolve(servers: tuple[str, ...], name: str) -> None:
    resolver = DnsResolver(servers)
    try:
        async with asyncio.timeout(RESOLVE_SECONDS_MAX):
            await resolver.resolve(name)
    finally:
        await resolver.close()

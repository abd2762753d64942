"""An address or a name, as a person typed it -> addresses.

A name is asked of the DNS as this machine is set up to ask it.
"""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address

from ipmicra.addresses import IPAddress
from ipmicra.errors import OperatorFault, SiteFault

_NAME = re.compile(
    r"(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z][a-z0-9-]{0,62}\.?", re.IGNORECASE
)


def addresses_of(text: str) -> list[IPAddress]:
    """The address itself, or all addresses of a name, IPv4 first."""
    try:
        return [ip_address(text)]
    except ValueError:
        return _resolved(_checked_name(text))


def _checked_name(text: str) -> str:
    try:
        name = text.encode("idna").decode("ascii")
    except UnicodeError:
        name = ""
    if not _NAME.fullmatch(name):
        raise OperatorFault(
            f"{text!r} is neither an address nor a name; write 198.51.100.9, 2001:db8::1 or www.example.org"
        )
    return name


def _resolved(name: str) -> list[IPAddress]:
    try:
        answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise SiteFault(
            f"looking up {name}: the DNS says {error.strerror}; check the name, or give an address"
        ) from error
    found = {ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers}
    return sorted(found, key=lambda address: (address.version, int(address)))

"""An address and the registries' tree -> what may be known of a site before anybody probes it.

Country, autonomous system, organisation, smallest subnet, and the address itself as a 64-bit key whose
leading bits tell neighbours. Law: numbers only, and 0 or -1 for what the tree does not know; numbers of
subnets and organisations are good for one tree, so memories keep addresses and ask again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipmicra.addresses import IPAddress
from ipmicra.delegation.adaptive.arrays import Floats, Keys, Whole
from ipmicra.delegation.subnets import UNKNOWN_ORGANISATION, Subnets, known_subnet

UNKNOWN = -1


class Facts(NamedTuple):
    """One site's, crawler's or place's. `key` is meaningless where `family` is 0."""

    country: int = UNKNOWN
    system: int = UNKNOWN
    organisation: int = UNKNOWN
    subnet: int = UNKNOWN
    family: int = 0
    key: int = 0


def country_number(code: str | None) -> int:
    """A number for a country's two letters."""
    return int.from_bytes(code.encode("ascii", "replace")[:4], "big") if code else UNKNOWN


def facts_of(address: IPAddress, tree: Subnets) -> Facts:
    """What the tree says of an address."""
    key = int(address) << 32 if address.version == 4 else int(address) >> 64
    subnet = known_subnet(tree, address)
    if subnet is None:
        return Facts(family=address.version, key=key)
    organisation = tree.organisation_of(subnet)
    return Facts(
        country=country_number(tree.country_of(subnet)),
        system=tree.asn_of(subnet) or UNKNOWN,
        organisation=UNKNOWN if organisation == UNKNOWN_ORGANISATION else organisation,
        subnet=int(subnet),
        family=address.version,
        key=key,
    )


def shared_bits(keys: Keys, families: Whole, facts: Facts) -> Floats:
    """How many leading bits each key shares with the site's, in bits of an IPv4 address.

    IPv6 is handed out in blocks of twice as many bits (/48 where IPv4 has /24), so its bits count half.
    """
    differing = np.bitwise_xor(keys, np.uint64(facts.key)).astype(np.float64)
    shared = 64.0 - np.frexp(differing)[1]
    shared = np.minimum(shared, 32.0) if facts.family == 4 else shared / 2
    return np.where(families == facts.family, shared, 0.0)

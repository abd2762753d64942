"""An address and the registries' tree -> what is known about a site before any probe.

Country, autonomous system, organisation, smallest subnet, and the address itself as a 64-bit key whose
leading bits neighbours share. Invariant: numbers only, and 0 or -1 for unknown; numbers of subnets and
organisations are valid for one tree, so stored data has addresses and looks them up again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.delegation.strategies.adaptive.arrays import IntArray, Singles
from ipmicra.delegation.subnets import UNKNOWN_ORGANISATION, SubnetLookup, known_subnet
from ipmicra.hierarchy import Subnet

UNKNOWN = -1
# Blocks wider than this are handed to registries and carriers, not to networks in one place.
SHARED_BITS_MIN = 12.0


class SiteFeatures(NamedTuple):
    """The facts about one site, crawler or place.

    `key` is meaningless where `family` is 0. `subnet_bits` is the size of the subnet: the length of its
    prefix, in bits of IPv4.
    """

    country: int = UNKNOWN
    system: int = UNKNOWN
    organisation: int = UNKNOWN
    subnet: int = UNKNOWN
    family: int = 0
    key: int = 0
    subnet_bits: float = 0.0


def country_number(code: str | None) -> int:
    """A number for a country's two letters."""
    return int.from_bytes(code.encode("ascii", "replace")[:4], "big") if code else UNKNOWN


def facts_of(address: IPAddress, tree: SubnetLookup) -> SiteFeatures:
    """The tree's facts about an address."""
    return facts_in(known_subnet(tree, address), address, tree)


def facts_in(subnet: Subnet | None, address: IPAddress, tree: SubnetLookup) -> SiteFeatures:
    """The same where the address's smallest known subnet was looked up already."""
    key = int(address) << 32 if address.version == 4 else int(address) >> 64
    if subnet is None:
        return SiteFeatures(family=address.version, key=key)
    organisation = tree.organisation_of(subnet)
    return SiteFeatures(
        country=country_number(tree.country_of(subnet)),
        system=tree.asn_of(subnet) or UNKNOWN,
        organisation=UNKNOWN if organisation == UNKNOWN_ORGANISATION else organisation,
        subnet=int(subnet),
        family=address.version,
        key=key,
        subnet_bits=_prefix_bits(tree.range_of(subnet)),
    )


def _prefix_bits(subnet: AddressRange) -> float:
    free = subnet.size.bit_length() - 1
    return 32.0 - free if subnet.family == 4 else (128 - free) / 2


def block_bits(family: int) -> int:
    """Of a key, that the widest block that counts leaves free. IPv6 is handed out in blocks of twice as
    many bits (/48 where IPv4 has /24)."""
    return 64 - int(SHARED_BITS_MIN) * (1 if family == 4 else 2)


def identities_of(facts: SiteFeatures) -> tuple[int, ...]:
    """Country, system, organisation, subnet, and the widest block that counts; UNKNOWN matches none."""
    block = facts.key >> block_bits(facts.family)
    return (*facts[:4], block * 10 + facts.family if facts.family else UNKNOWN)


def neighbourhoods(keys: IntArray, facts: SiteFeatures) -> Singles:
    """How much smaller than the widest that counts is the block that each key shares with the site's.

    The keys are of that block. 1 for a block of SHARED_BITS_MIN bits, twice as much for each further
    bit; bits of IPv6 count half.
    """
    apart = np.bitwise_xor(keys, np.uint64(facts.key)).astype(np.float32)
    apart += 2.0**32 if facts.family == 4 else 1.0
    sizes: Singles = np.divide(2.0 ** block_bits(facts.family), apart, out=apart)
    return sizes if facts.family == 4 else np.sqrt(sizes)

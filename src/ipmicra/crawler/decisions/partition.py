"""An address and a number of processes -> the one process that may ask it anything.

Invariant: stable over runs and machines, and a matter of the address alone. Since every request goes to
an address, and each address has one owner, politeness per address needs no messages between processes; a
site belongs where its address does.
"""

from __future__ import annotations

import hashlib


def owner_of(address: str, processes: int) -> int:
    """The number of the owner, from 0."""
    digest = hashlib.blake2b(address.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % processes

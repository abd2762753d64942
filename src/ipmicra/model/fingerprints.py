"""Parts of a page -> a hash that changes with any change of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

CONTENT_HASH_BYTES = 16


def content_hash(parts: Iterable[str]) -> bytes:
    """16 bytes over the parts and where they end."""
    joined = "\0".join(parts)
    return hashlib.blake2b(
        joined.encode("utf-8", "surrogatepass"), digest_size=CONTENT_HASH_BYTES
    ).digest()

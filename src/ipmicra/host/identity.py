"""A folder -> the host's own key: created here, stored here, readable by its owner alone."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ipmicra.carrier.durable import sync_folder
from ipmicra.errors import HostFault

FILE = "identity.key"
_MODE = 0o600


def make_key(folder: Path) -> Ed25519PrivateKey:
    """A new key in a new file; an existing key is never overwritten."""
    key = Ed25519PrivateKey.generate()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(folder / FILE, flags, _MODE), "wb") as file:
        file.write(key.private_bytes_raw())
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)
    return key


def read_key(folder: Path) -> Ed25519PrivateKey:
    path = folder / FILE
    try:
        if path.stat().st_mode & 0o077:
            raise HostFault(f"others may read the host's key {path}; run: chmod 600 {path}")
        return Ed25519PrivateKey.from_private_bytes(path.read_bytes())
    except (OSError, ValueError) as error:
        raise HostFault(f"reading the host's key {path}: {error}; join again") from error

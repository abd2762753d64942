"""The network file: what all peers of one network share, the space that they divide and their secret.

Invariant: every holder of the file is trusted. It is created readable for its owner only.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec

from ipmicra.errors import OperatorFault
from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.zones.splitting import Switch

SECRET_BYTES = 32


class NetworkFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of the file, as JSON."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    secret: str
    scheme: str = "MP/slab"

    @property
    def space(self) -> ZoneBox:
        return ZoneBox(self.low, self.high)


def create_network_file(
    path: Path, low: tuple[float, ...], high: tuple[float, ...], scheme: str
) -> NetworkFile:
    """Create a new network. An existing file is never overwritten."""
    Switch.parse(scheme)
    made = NetworkFile(low, high, secrets.token_hex(SECRET_BYTES), scheme)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OperatorFault(
            f"{path} exists already: join that network, or choose another file"
        ) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(made)))
    return made


def read_network_file(path: Path) -> NetworkFile:
    """The contents of a network file, checked."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=NetworkFile)
    except OSError as error:
        raise OperatorFault(f"{path} cannot be read: {error.strerror}; copy it from a peer") from None
    except msgspec.MsgspecError as error:
        raise OperatorFault(f"{path} is not a network file: {error}") from None
    if len(found.low) != len(found.high) or not all(
        low < high for low, high in zip(found.low, found.high, strict=True)
    ):
        raise OperatorFault(f"{path}: the space is empty: {found.low} to {found.high}")
    return found

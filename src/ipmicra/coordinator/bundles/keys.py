"""A folder of the operator -> Ed25519 keys by role, each in a file that only they can read.

There are several root keys; keep them offline, with different people. The three other keys may be stored
where bundles are signed. Invariant: a private key is never printed, never logged, and never in the
published folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from securesystemslib.signer import CryptoSigner

from ipmicra.carrier.durable import make_folder, sync_folder
from ipmicra.errors import OperatorFault

Role: TypeAlias = Literal["root", "targets", "snapshot", "timestamp"]
ROLES: tuple[Role, ...] = get_args(Role)


def make_keys(folder: Path, role: Role, count: int) -> list[CryptoSigner]:
    """New keys, as files ROLE-N.pem that did not exist before."""
    make_folder(folder, mode=0o700)
    taken = len(_files(folder, role))
    return [_make(folder / f"{role}-{taken + number + 1}.pem") for number in range(count)]


def read_keys(folder: Path, role: Role) -> list[CryptoSigner]:
    """All keys of a role that lie here. Raises OperatorFault where there are none."""
    files = _files(folder, role)
    if not files:
        raise OperatorFault(
            f"{folder} has no {role} key ({role}-1.pem); make keys with: ipmicra bundle init"
        )
    return [_read(path) for path in files]


def _files(folder: Path, role: Role) -> list[Path]:
    return sorted(folder.glob(f"{role}-*.pem"))


def _make(path: Path) -> CryptoSigner:
    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)
    return CryptoSigner(key)


def _read(path: Path) -> CryptoSigner:
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise OperatorFault(f"{path} is not a private key: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise OperatorFault(f"{path} is not an Ed25519 key")
    return CryptoSigner(key)

"""Keys, bundles and a clock -> signed metadata in a folder that can be published as it is.

Files are named as The Update Framework's consistent snapshots have it: N.root.json, N.targets.json,
N.snapshot.json, timestamp.json, and bundles by their digest. Invariant: a file that others name is
written before the one that names it, and `timestamp.json` last, so a reader sees either the old or the
new state.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import msgspec
from securesystemslib.signer import CryptoSigner
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp

from ipmicra.carrier.durable import make_folder, write_durably
from ipmicra.coordinator.bundles.keys import ROLES, Role, make_keys, read_keys
from ipmicra.errors import OperatorFault
from ipmicra.protocol.bundle_format import read as read_bundle
from ipmicra.protocol.bundle_trust import bundle_name
from ipmicra.protocol.versions import is_newer

METADATA, TARGETS = "metadata", "targets"


class Lifetimes(msgspec.Struct, frozen=True, kw_only=True):
    """Days until metadata expires, by role."""

    root: float = 365.0
    targets: float = 90.0
    snapshot: float = 14.0
    timestamp: float = 7.0


ORDINARY_LIFETIMES = Lifetimes()

Signed = TypeVar("Signed", Root, Targets, Snapshot, Timestamp)


class Repository:
    """The signed bundles in one folder."""

    def __init__(self, folder: Path, lifetimes: Lifetimes = ORDINARY_LIFETIMES) -> None:
        self._folder = folder
        self._lifetimes = lifetimes

    # --- the operator's acts ------------------------------------------------

    def init(self, keys: Path, root_keys: int, threshold: int, now: datetime) -> bytes:
        """Make all keys and an empty repository. Returns the first root, which hosts are to trust."""
        if (self._folder / METADATA).exists():
            raise OperatorFault(f"{self._folder} is a repository already")
        if not 1 <= threshold <= root_keys:
            raise OperatorFault(
                f"a threshold of {threshold} cannot be reached with {root_keys} root keys"
            )
        made: dict[Role, list[CryptoSigner]] = {
            role: make_keys(keys, role, root_keys if role == "root" else 1) for role in ROLES
        }
        root = Root(expires=self._expiry("root", now), consistent_snapshot=True)
        for role, signers in made.items():
            for signer in signers:
                root.add_key(signer.public_key, role)
        root.roles["root"].threshold = threshold
        self._write_root(root, made["root"])
        self._write_all(
            Targets(expires=self._expiry("targets", now)), Snapshot(), Timestamp(), keys, now
        )
        return self.first_root()

    def sign(self, bundle: bytes, keys: Path, now: datetime) -> str:
        """Add a bundle and sign for it. Returns its version."""
        manifest, _ = read_bundle(bundle)
        targets = self._targets()
        name = bundle_name(manifest.version)
        known = {path.removeprefix("crawler-").removesuffix(".zip") for path in targets.targets}
        if any(not is_newer(manifest.version, other) for other in known):
            raise OperatorFault(
                f"version {manifest.version} is not newer than {max(known, key=_sortable)}, which is signed: "
                "hosts never go back; give the old code a new number"
            )
        target = TargetFile.from_data(name, bundle, ["sha256"])
        targets.targets[name] = target
        self._write(f"{TARGETS}/{hashlib.sha256(bundle).hexdigest()}.{name}", bundle)
        self._resign(targets, keys, now)
        return manifest.version

    def withdraw(self, version: str, keys: Path, now: datetime) -> None:
        """Sign for a version no more; no host begins with it from then on."""
        targets = self._targets()
        if targets.targets.pop(bundle_name(version), None) is None:
            raise OperatorFault(f"version {version} is not among the signed bundles")
        self._resign(targets, keys, now)

    def refresh(self, keys: Path, now: datetime) -> None:
        """Sign again what would expire: do it at least weekly."""
        self._resign(self._targets(), keys, now)

    def rotate(self, keys: Path, role: Role, now: datetime) -> None:
        """Replace a role's keys by new ones. The new root is signed by the old root keys and the new."""
        root = self._root()
        old_signers = read_keys(keys, "root")
        count = len(root.roles[role].keyids)
        made = make_keys(keys, role, count)
        for key in list(root.roles[role].keyids):
            root.revoke_key(key, role)
        for signer in made:
            root.add_key(signer.public_key, role)
        root.version += 1
        root.expires = self._expiry("root", now)
        self._write_root(root, [*old_signers, *made] if role == "root" else old_signers)
        self._resign(self._targets(), keys, now)

    # --- what is there ------------------------------------------------------

    def versions(self) -> list[str]:
        """Signed for, oldest first."""
        names = self._targets().targets
        return sorted((name[len("crawler-") : -len(".zip")] for name in names), key=_sortable)

    def first_root(self) -> bytes:
        return (self._folder / METADATA / "1.root.json").read_bytes()

    def expires(self) -> datetime:
        """When hosts stop to believe, unless refreshed."""
        return min(self._read("timestamp.json", Timestamp).expires, self._targets().expires)

    # --- reading and writing ------------------------------------------------

    def _root(self) -> Root:
        newest = max(self._numbers("root"), default=0)
        return self._read(f"{newest}.root.json", Root)

    def _targets(self) -> Targets:
        newest = max(self._numbers("targets"), default=0)
        return self._read(f"{newest}.targets.json", Targets)

    def _numbers(self, role: Role) -> list[int]:
        found = (self._folder / METADATA).glob(f"*.{role}.json")
        return [int(path.name.partition(".")[0]) for path in found]

    def _read(self, name: str, kind: type[Signed]) -> Signed:
        path = self._folder / METADATA / name
        try:
            signed = Metadata[Signed].from_file(str(path)).signed
        except (OSError, RepositoryError) as error:
            raise OperatorFault(f"{self._folder} is not a repository of bundles: {error}") from error
        assert isinstance(signed, kind)
        return signed

    def _resign(self, targets: Targets, keys: Path, now: datetime) -> None:
        timestamp = self._read("timestamp.json", Timestamp)
        snapshot = self._read(f"{timestamp.snapshot_meta.version}.snapshot.json", Snapshot)
        targets.version += 1
        snapshot.version += 1
        timestamp.version += 1
        self._write_all(targets, snapshot, timestamp, keys, now)

    def _write_all(
        self, targets: Targets, snapshot: Snapshot, timestamp: Timestamp, keys: Path, now: datetime
    ) -> None:
        targets.expires = self._expiry("targets", now)
        snapshot.expires = self._expiry("snapshot", now)
        timestamp.expires = self._expiry("timestamp", now)
        self._write_signed(
            targets, f"{targets.version}.targets.json", read_keys(keys, "targets"), "targets"
        )
        snapshot.meta["targets.json"] = MetaFile(targets.version)
        self._write_signed(
            snapshot, f"{snapshot.version}.snapshot.json", read_keys(keys, "snapshot"), "snapshot"
        )
        timestamp.snapshot_meta = MetaFile(snapshot.version)
        self._write_signed(timestamp, "timestamp.json", read_keys(keys, "timestamp"), "timestamp")

    def _write_root(self, root: Root, signers: list[CryptoSigner]) -> None:
        metadata = Metadata(root)
        for signer in signers:
            metadata.sign(signer, append=True)
        self._write(f"{METADATA}/{root.version}.root.json", metadata.to_bytes())

    def _write_signed(self, signed: Signed, name: str, signers: list[CryptoSigner], role: Role) -> None:
        """By those of the keys that the root names for the role."""
        wanted = self._root().roles[role].keyids
        usable = [signer for signer in signers if signer.public_key.keyid in wanted]
        if not usable:
            raise OperatorFault(f"none of the {role} keys here is the one that the root names")
        metadata = Metadata(signed)
        for signer in usable:
            metadata.sign(signer, append=True)
        self._write(f"{METADATA}/{name}", metadata.to_bytes())

    def _write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        make_folder(path.parent)
        write_durably(path, data)

    def _expiry(self, role: Role, now: datetime) -> datetime:
        days: float = getattr(self._lifetimes, role)
        return now.astimezone(UTC).replace(microsecond=0) + timedelta(days=days)


def _sortable(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))

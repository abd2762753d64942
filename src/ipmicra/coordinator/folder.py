"""The data folder and the settings -> the coordinator's database address, package store and folders."""

from __future__ import annotations

from pathlib import Path

from ipmicra.carrier.durable import make_folder
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore, PackageStore
from ipmicra.coordinator.store.package_bytes.s3_store import SCHEME, S3PackageStore
from ipmicra.errors import HostFault, OperatorFault


def database_address(configured: str, data_folder: Path) -> str:
    """The configured database, or SQLite in the data folder."""
    return configured or f"sqlite:///{data_folder / 'coordinator.sqlite'}"


def make_data_folder(data_folder: Path) -> None:
    """Create the data folder, for the commands that start a new coordinator."""
    try:
        make_folder(data_folder)
    except OSError as error:
        raise HostFault(f"creating the data folder {data_folder}: {error}") from error


def packages_folder(data_folder: Path) -> Path:
    """Packages and hand-over states, stored as files named by digest."""
    return data_folder / "packages"


def package_store(configured: str, data_folder: Path) -> PackageStore:
    """The store of packages and hand-over states: the configured S3 bucket, or the data folder."""
    if not configured:
        return FilePackageStore(packages_folder(data_folder))
    if not configured.startswith(SCHEME):
        raise OperatorFault(
            f"coordinator.packages = {configured!r} is not a package store; write s3://BUCKET/PREFIX"
        )
    return S3PackageStore(configured)


def bundles_folder(data_folder: Path) -> Path:
    """Published bundles of code, signed, as hosts download them."""
    return data_folder / "bundles"

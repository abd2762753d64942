"""The data folder -> where the coordinator keeps its files in it."""

from __future__ import annotations

from pathlib import Path

from ipmicra.coordinator.store.package_files import FilePackageStore, PackageStore
from ipmicra.coordinator.store.package_s3 import SCHEME, S3PackageStore
from ipmicra.errors import HostFault, OperatorFault


def database_address(configured: str, data_folder: Path) -> str:
    """The database that the settings mean, or SQLite in the data folder."""
    return configured or f"sqlite:///{data_folder / 'coordinator.sqlite'}"


def make_data_folder(data_folder: Path) -> None:
    """For the commands that begin a coordinator."""
    try:
        data_folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostFault(f"making the data folder {data_folder}: {error}") from error


def packages_folder(data_folder: Path) -> Path:
    """Packages and hand-overs, by their digest, where they are files."""
    return data_folder / "packages"


def package_store(configured: str, data_folder: Path) -> PackageStore:
    """Where packages and hand-overs lie: in the S3 that the settings mean, or in the data folder."""
    if not configured:
        return FilePackageStore(packages_folder(data_folder))
    if not configured.startswith(SCHEME):
        raise OperatorFault(
            f"coordinator.packages = {configured!r} is no place for packages; write s3://BUCKET/PREFIX"
        )
    return S3PackageStore(configured)


def bundles_folder(data_folder: Path) -> Path:
    """Signed bundles of code, as hosts fetch them."""
    return data_folder / "bundles"

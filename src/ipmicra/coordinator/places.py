"""The data folder -> where the coordinator keeps its files in it."""

from __future__ import annotations

from pathlib import Path

from ipmicra.errors import HostFault


def database_address(configured: str, data_folder: Path) -> str:
    """The database that the settings mean, or SQLite in the data folder, which is made."""
    if configured:
        return configured
    try:
        data_folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostFault(f"making the data folder {data_folder}: {error}") from error
    return f"sqlite:///{data_folder / 'coordinator.sqlite'}"


def packages_folder(data_folder: Path) -> Path:
    """Packages and hand-overs, by their digest."""
    return data_folder / "packages"


def bundles_folder(data_folder: Path) -> Path:
    """Signed bundles of code, as hosts fetch them."""
    return data_folder / "bundles"

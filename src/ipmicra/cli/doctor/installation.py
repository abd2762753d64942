"""Settings and a data folder -> what is installed here, and which roles this machine has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ipmicra.host.folder import FOLDER as HOST_FOLDER
from ipmicra.host.folder import coordinator_of, is_joined
from ipmicra.settings import Settings


@dataclass(frozen=True)
class Installation:
    """The input of every check. `listen` is None if the operator gave no address."""

    settings: Settings
    sources: dict[str, str]  # where each setting came from
    listen: str | None = None

    @property
    def data_folder(self) -> Path:
        return self.settings.data_folder

    @property
    def host_folder(self) -> Path:
        return self.data_folder / HOST_FOLDER

    @property
    def coordinator_file(self) -> Path:
        return self.data_folder / "coordinator.sqlite"

    @property
    def is_coordinator(self) -> bool:
        return bool(self.settings.coordinator.database) or self.coordinator_file.exists()

    @property
    def is_host(self) -> bool:
        return is_joined(self.host_folder)

    @property
    def is_search_engine(self) -> bool:
        return self.index_folder.is_dir() and any(self.index_folder.iterdir())

    @property
    def index_folder(self) -> Path:
        return self.data_folder / "index"

    @cached_property
    def coordinator_address(self) -> str:
        """The coordinator that this host has joined, or that is configured here; empty: none."""
        joined = coordinator_of(self.host_folder) if self.is_host else ""
        return (joined or self.settings.coordinator.address).rstrip("/")

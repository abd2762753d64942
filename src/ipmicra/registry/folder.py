"""The data folder -> the paths of the registry's files in it."""

from __future__ import annotations

from pathlib import Path


def fetched_files(data_folder: Path) -> Path:
    """Where `registry fetch` puts the registries' files, a folder a registry."""
    return data_folder / "registry" / "files"


def tree_file(data_folder: Path) -> Path:
    """The tree that everyone uses."""
    return data_folder / "registry" / "subnets.tree"

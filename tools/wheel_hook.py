"""A wheel under way -> with the compiled reader in it, where `IPMICRA_READER` names a built one.

Invariant: without it the wheel is pure and fits everywhere; with it, the tag says where it fits.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledReader(BuildHookInterface):  # type: ignore[misc, type-arg]  # hatchling is not typed here
    """`IPMICRA_READER` is the wheel that maturin made of native/markup."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        reader = os.environ.get("IPMICRA_READER", "")
        if not reader or version == "editable":
            return
        unpacked = Path(self.directory).absolute() / ".reader"
        with zipfile.ZipFile(reader) as wheel:
            names = [name for name in wheel.namelist() if name.startswith("ipmicra_markup/")]
            wheel.extractall(unpacked, names)
        for name in names:
            build_data["force_include"][str(unpacked / name)] = name
        build_data["pure_python"] = False
        build_data["tag"] = "-".join(Path(reader).stem.split("-")[2:])

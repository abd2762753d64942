"""The description of a backup. It is written last: a file without it is not complete."""

from __future__ import annotations

import msgspec

FORMAT = 1
NAME = "manifest.json"


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    program: str  # the version of ipmicra that made it
    schema: int
    began_s: float  # everything acknowledged before this moment is in it
    rows: dict[str, int]  # by table
    packages: int  # with the hand-overs that waited
    package_bytes: int
    packages_copied: bool  # False: only their digests; the bytes stay where they are
    packages_at: str
    missing: list[str] = []  # packages whose bytes were lost before

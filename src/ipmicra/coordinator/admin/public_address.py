"""Settings, or where a coordinator listens -> the address in the links and commands that it prints."""

from __future__ import annotations

from sqlalchemy import Connection

from ipmicra.coordinator.store import blobs

DEFAULT = "http://127.0.0.1:8790"
_ROW = "public address"


def remember_address(connection: Connection, address: str, now_s: float) -> None:
    """For commands that run beside the coordinator, and know its rows only."""
    blobs.save(connection, _ROW, address.encode(), now_s)


def public_address(connection: Connection, configured: str) -> str:
    """The configured address, else the one at which the coordinator last ran."""
    remembered = blobs.read(connection, _ROW)
    return configured.rstrip("/") or (remembered.decode() if remembered else DEFAULT)

"""Sealed packages in the spool -> the coordinator's hands, one after the other, oldest first.

Law: a package is removed when the coordinator holds it durably, or says that it will never want it.
"""

from __future__ import annotations

from ipmicra.carrier.package import PackageFile
from ipmicra.host.coordinator_client import Line, Refused
from ipmicra.host.hosted.interface import Tenant
from ipmicra.host.store import Ledger

UNWANTED = frozenset({"epoch", "number", "digest", "malformed"})


async def deliver(crawler: Tenant, ledger: Ledger, line: Line) -> bool:
    """Send the oldest package, if there is one. Raises LineDown where it could not be sent."""
    package = next(iter(crawler.waiting()), None)
    if package is None or ledger.epoch() is None:
        return False
    await _send(package, crawler.package_bytes(package), ledger, line)
    crawler.acknowledge(package)
    return True


async def _send(package: PackageFile, data: bytes, ledger: Ledger, line: Line) -> None:
    epoch = ledger.epoch_of(package.sequence)
    try:
        await line.put_package(package.sequence, package.digest, epoch, data)
    except Refused as refused:
        if refused.refusal.kind not in UNWANTED:
            raise
        ledger.note(f"package {package.sequence} is not wanted: {refused}")
    else:
        ledger.note(f"sent package {package.sequence}: {len(data):,} bytes")

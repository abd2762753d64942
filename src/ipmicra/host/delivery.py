"""Sealed packages in the spool -> delivered to the coordinator one after the other, oldest first.

Invariant: a package is removed when the coordinator stores it durably, or says that it will never accept
it.
"""

from __future__ import annotations

from ipmicra.carrier.package import PackageFile
from ipmicra.host.coordinator_client import CoordinatorConnection, RequestRefused
from ipmicra.host.hosted.interface import HostedCrawler
from ipmicra.host.store import HostStore

UNWANTED = frozenset({"epoch", "number", "digest", "malformed"})


async def deliver(crawler: HostedCrawler, store: HostStore, connection: CoordinatorConnection) -> bool:
    """Send the oldest package, if there is one. Raises CoordinatorUnavailable if it could not be
    sent.
    """
    package = next(iter(crawler.waiting_packages()), None)
    if package is None or store.epoch() is None:
        return False
    await _send(package, crawler.package_bytes(package), store, connection)
    crawler.acknowledge(package)
    return True


async def _send(
    package: PackageFile, data: bytes, store: HostStore, connection: CoordinatorConnection
) -> None:
    epoch = store.epoch_of(package.sequence)
    try:
        await connection.put_package(package.sequence, package.digest, epoch, data)
    except RequestRefused as refused:
        if refused.refusal.kind not in UNWANTED:
            raise
        store.log_event(f"package {package.sequence} is not accepted: {refused}")
    else:
        store.log_event(f"sent package {package.sequence}: {len(data):,} bytes")

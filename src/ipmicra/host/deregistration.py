"""A host that stops for good -> its sites handed over, its packages sent, the coordinator informed,
if possible.

Invariant: nothing here prevents an owner from leaving: it is tried for a limited time.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from ipmicra.errors import Fault
from ipmicra.host import folder as folders
from ipmicra.host.coordinator_client import (
    CoordinatorConnection,
    CoordinatorUnavailable,
    HostRevoked,
    RequestRefused,
)
from ipmicra.host.delivery import deliver
from ipmicra.host.hosted.in_process import InProcessCrawler
from ipmicra.host.hosted.interface import STATE_FOLDER
from ipmicra.host.identity import read_key
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.order_executor import OrderExecutor
from ipmicra.host.settings import HostingSettings
from ipmicra.host.store import HostStore
from ipmicra.model.urls import Site


async def deregister(
    folder: Path, settings: HostingSettings, store: HostStore, seconds: float
) -> str | None:
    """The reason why deregistration failed, or None."""
    if store.get("retired") is not None:
        return None  # everything was handed over when it retired
    try:
        member = folders.membership(store)
        meter = UsageMeter(store, settings.host, lambda: datetime.now(UTC))
        async with CoordinatorConnection(
            member.coordinator, member.host, read_key(folder), store, meter
        ) as connection:
            if seconds:
                async with asyncio.timeout(seconds):
                    await _hand_over(folder, member.host, settings, store, connection, meter)
            async with asyncio.timeout(max(seconds, 5)):
                await connection.deregister()
    except (TimeoutError, CoordinatorUnavailable, RequestRefused, HostRevoked, Fault) as error:
        return f"the coordinator could not be informed: {error or 'it took too long'}"
    return None


async def _hand_over(
    folder: Path,
    host: str,
    settings: HostingSettings,
    store: HostStore,
    connection: CoordinatorConnection,
    meter: UsageMeter,
) -> None:
    crawler = InProcessCrawler(folder / STATE_FOLDER, host, settings, meter)
    try:
        await crawler.seal()
        while await deliver(crawler, store, connection):
            pass
        orders = OrderExecutor(store, crawler, connection, meter, lambda: "leaving")
        for held in store.held_sites():
            await orders.release_site(Site(held.site), held.epoch)
        await orders.send_states()
    finally:
        await crawler.close()

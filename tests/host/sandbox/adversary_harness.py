"""A sandbox on a host with a site that may be crawled and a printer that may not -> the result of an
attack.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.monitor.throttled_log import ThrottledLog
from ipmicra.host.sandbox.session import SandboxSession, SessionDependencies
from ipmicra.host.sandbox.spec import EnabledGuards, SandboxLimits, SandboxSpec
from ipmicra.host.store import HostStore
from ipmicra.net.dns_resolver import DnsAnswer, NoSuchName
from ipmicra.settings import Settings
from tests.host.host_harness import host_settings

CODE = Path(__file__).parent / "adversary"
SECONDS_MAX = 30.0


class NoNames:
    async def resolve(self, name: str) -> DnsAnswer:
        raise NoSuchName(f"{name} has no address")

    async def close(self) -> None:
        return None


class Listener:
    """Takes connections at an address and remembers them."""

    def __init__(self) -> None:
        self.taken, self.received, self.port = 0, 0, 0

    @asynccontextmanager
    async def at(self, address: str) -> AsyncIterator[Listener]:
        server = await asyncio.start_server(self._take, address, 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.taken += 1
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                self.received += len(data)
        writer.close()


@dataclass
class Attack:
    """One attack under way, and what it came to."""

    berth: SandboxSession
    meter: UsageMeter
    state: Path
    site: Listener
    printer: Listener
    log: list[str] = field(default_factory=list)
    begun_at: float = field(default_factory=time.monotonic)

    @property
    def outcome(self) -> dict[str, str] | None:
        path = self.state / "outcome"
        return json.loads(path.read_text()) if path.exists() else None

    async def over(self) -> str:
        """The guard that stopped the attack. Fails if the attack succeeded."""
        async with asyncio.timeout(SECONDS_MAX):
            while self.outcome is None and not self.berth.has_ended:
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.15)  # what it said last is read
        won = (self.outcome or {}).get("won")
        assert won is None, f"it has won: {won}; {self.log}"
        return (self.outcome or {}).get("stopped", "ended")

    def says(self, words: str) -> bool:
        return any(words in line for line in self.log)


@asynccontextmanager
async def attack(
    folder: Path,
    name: str,
    guards: EnabledGuards = EnabledGuards(),  # noqa: B008 - frozen
    rest: str | None = None,
    more: dict[str, object] | None = None,
    **host: object,
) -> AsyncIterator[Attack]:
    """Run the adversary in a sandbox on a host with these rules."""
    settings = host_settings(folder, **{"connections_max": 20, "disk_bytes_max": 64 << 20, **host})
    fetching = msgspec.structs.replace(settings.fetching, open_ranges=("127.0.0.1/32",))
    crawler = msgspec.structs.replace(settings.crawler, contact="tester@example.org")
    settings = msgspec.structs.replace(settings, fetching=fetching, crawler=crawler)
    state, brief = folder / "state", folder / "brief.json"
    state.mkdir()
    store = HostStore(folder)
    meter = UsageMeter(store, settings.host, lambda: datetime.now(UTC))
    log: list[str] = []
    shore = SessionDependencies(
        settings.hosting,
        meter,
        NoNames(),
        None,
        lambda: rest,
        ThrottledLog(log.append),
        lambda _: None,
    )
    async with Listener().at("127.0.0.1") as site, Listener().at("127.0.0.2") as printer:
        brief.write_text(json.dumps(_brief(name, settings, site, printer, more or {})))
        limits = SandboxLimits.of(settings.host)
        berth = SandboxSession(SandboxSpec(CODE, "adversary", state, brief, limits, guards), shore)
        await berth.open()
        berth.resume()
        try:
            yield Attack(berth, meter, state, site, printer, log)
        finally:
            await berth.close()
            store.close()


def _brief(
    name: str, settings: Settings, site: Listener, printer: Listener, more: dict[str, object]
) -> dict[str, object]:
    return {
        "attack": name,
        "site_port": site.port,
        "lan_port": printer.port,
        "connections_max": settings.host.connections_max,
        "memory_bytes_max": settings.host.memory_bytes_max,
        "disk_bytes_max": settings.host.disk_bytes_max,
        **more,
    }

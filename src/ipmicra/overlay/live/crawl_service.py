"""The sites that a peer has a lease on -> a running crawler, and packages stored on two peers.

The crawler is the host's (`host.hosted.in_process`), with its frontier, spool, meter and store. When a site
goes to another peer its documents are sent first, then its state (queue, validators, change history,
clocks): a successor that has the state also has every page that the state calls known. A successor that
receives nothing in time, because the former crawler is dead, crawls the site from the start.

Invariant: only leased sites are crawled, and only when the owner's limits allow it
(`host.limits.owner_rules`); sites wait while the host is paused. A package leaves the spool when another peer
has stored it too. Data from another peer is acknowledged when it is durable here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from ipmicra.carrier.durable import make_folder
from ipmicra.carrier.package import PackageFile, digest_of
from ipmicra.crawler.frontier.transfer import site_in
from ipmicra.errors import HostFault, PeerFault
from ipmicra.host.hosted.in_process import InProcessCrawler
from ipmicra.host.hosted.interface import STATE_FOLDER
from ipmicra.host.limits.owner_rules import OwnerRules
from ipmicra.host.measuring.probe_service import ProbeService
from ipmicra.host.site_state_file import chunks_in
from ipmicra.host.store import HeldSite, HostStore
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Site, name_of, port_of
from ipmicra.net.dns_resolver import DnsResolver, NamesUnreachable, NoSuchName
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.sites.site_table import delegate_descriptor
from ipmicra.overlay.live import chunked_transfer
from ipmicra.overlay.live.package_store import PeerPackageStore
from ipmicra.overlay.live.received_states import ReceivedStates
from ipmicra.overlay.settings import PeerSettings
from ipmicra.protocol.host_messages import ProbeTarget
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, ReleaseSite, SiteRecord
from ipmicra.protocol.overlay_rpc import RpcKind, TransferChunk

STEP_SECONDS = 0.5
STATE_SECONDS_MAX = 8.0  # a successor waits this long for the state, or for the next documents before it
RECOVERED_SECONDS_MAX = 600.0  # a state from before a restart waits this long for its site
GRACE_SECONDS = 2.0
REPLICA_PEERS_TRIED = 4

_log = logging.getLogger(__name__)


class PeerCrawlService:
    """Crawls and stores for one peer. `run` works until cancelled; then close it."""

    def __init__(
        self,
        folder: Path,
        peer: Peer,
        codec: FrameCodec,
        settings: PeerSettings,
        reload: Callable[[], PeerSettings] | None = None,
    ) -> None:
        """With `reload` the owner's limits may change while the peer runs."""
        make_folder(folder / STATE_FOLDER)
        self._peer, self._codec = peer, codec
        self._store = HostStore(folder)
        self._rules = OwnerRules(folder, settings, self._store, lambda: datetime.now(UTC), reload)
        self._meter = self._rules.meter
        self.crawler = InProcessCrawler(folder / STATE_FOLDER, peer.id, settings, self._meter)
        self.packages = PeerPackageStore(folder)
        self.transfers = chunked_transfer.ChunkedTransfer(self._on_received)
        self._resolver = DnsResolver(settings.fetching.dns_servers)
        self._probe_service = ProbeService(
            lambda: self.settings,
            self._meter,
            self.crawler.passive,
            self._rules.start_blocked_reason,
        )
        self._held: dict[str, HeldSite] = {}
        self._unconfirmed: dict[
            str, HeldSite
        ] = {}  # still ours, but the lease was not confirmed in time
        self._complete: set[str] = set()
        self.discovered: asyncio.Queue[Site] = asyncio.Queue()  # sites that pages link to, each once
        self._sites_seen: set[Site] = set()
        self._successors: dict[str, PeerDescriptor] = {}
        self._states = ReceivedStates(folder)  # until I begin tsuccessor sites
        self._wanted_since_s: dict[str, float] = {}
        self._arriving: set[str] = set()  # sites whose documents have arrived since the last step
        self._stored: dict[int, str] = {}  # digests of stored packages that wait for a replica
        self._handing_over: set[asyncio.Task[None]] = set()

    @property
    def is_done(self) -> bool:
        """Nothing is left to hand over or to replicate: the peer may stop."""
        states = set(self._states) - self._states.recovered
        left = self._held or self._unconfirmed or states or self._handing_over
        return not left and not self.crawler.waiting_packages()

    @property
    def settings(self) -> PeerSettings:
        return self._rules.settings

    def pause_reason(self) -> str | None:
        """Why nothing is fetched now, by the owner's limits; None while it works."""
        return self._rules.blocked_reason()

    async def run(self, clock: Callable[[], float]) -> None:
        try:
            while True:
                await self.step(clock())
                await asyncio.sleep(STEP_SECONDS)
        finally:
            for task in self._handing_over:
                task.cancel()
            await self.crawler.stop(GRACE_SECONDS)

    async def close(self) -> None:
        await self._probe_service.close()
        await self._resolver.close()
        await self.crawler.close()
        self._meter.flush()
        self.packages.close()
        self._store.close()

    async def step(self, now_s: float) -> None:
        """One round: stop sites that are not ours, start those that are, replicate packages."""
        await self._apply_limits()
        leased = self._peer.leased_sites(now_s)
        for held in [held for site, held in self._held.items() if site not in leased]:
            await self._stop_site(held)
        for held in [held for site, held in self._unconfirmed.items() if not self._is_mine(site)]:
            await self._release_site(held)
        for site in [site for site in self._states if not self._is_mine(site)]:
            self._forward_state(site, now_s)
        for site, record in leased.items():
            if site not in self._held or self._held[site].epoch < record.epoch:
                await self._start_site(site, record, now_s)
        await self._replicate_packages()
        if not (
            self.crawler.counts().pending
            or self.crawler.spool.unsealed
            or self.crawler.waiting_packages()
        ):
            self._complete |= set(self._held)

    async def _apply_limits(self) -> None:
        """Start, drain or stop the crawler as the owner's limits require."""
        self._meter.flush()
        if self._rules.refresh():
            self.crawler.settings = self._rules.settings
            self.crawler.drain()  # and start again with the new settings
        self.crawler.check()
        if self._rules.blocked_reason() is not None:
            await self.crawler.stop(0)
        elif self._rules.ends_soon():
            self.crawler.drain()
        else:
            self.crawler.start()

    def complete_sites(self) -> list[str]:
        """Sites whose documents are complete here: received from the former crawler, or crawled once."""
        return sorted(self._complete)

    def held_sites(self) -> list[str]:
        """The sites that are being crawled here."""
        return sorted(self._held)

    # --- starting -----------------------------------------------------------------------------

    async def _start_site(self, site: str, record: SiteRecord, now_s: float) -> None:
        held = self._held.get(site) or self._unconfirmed.get(site)
        is_here = site in self._held or (held is not None and held.epoch == SiteEpoch(record.epoch))
        if not is_here and not await self._is_ready(site, record, now_s):
            return
        held = HeldSite(site, SiteEpoch(record.epoch), "")
        self._wanted_since_s.pop(site, None)
        self._unconfirmed.pop(site, None)
        self._sites_seen.add(Site(site))
        if self._store.add_site(held):
            self._held[site] = held
            self.crawler.add_site(held)
            await self.crawler.enqueue([f"{site}/"])

    async def _is_ready(self, site: str, record: SiteRecord, now_s: float) -> bool:
        """Whether the former crawler's state is here, or is not waited for any longer."""
        if site in self._states:
            return await self._take_over(site)
        if site in self._arriving:
            self._arriving.discard(site)
            self._wanted_since_s[site] = now_s
        since_s = self._wanted_since_s.setdefault(site, now_s)
        return record.epoch <= 1 or now_s - since_s > STATE_SECONDS_MAX

    async def _take_over(self, site: str) -> bool:
        """Import the received state; if it cannot be read, the site is crawled from the start."""
        try:
            await self.crawler.forget_site(Site(site))
            await self.crawler.import_site(self._states.read(site))
            self._complete.add(site)
        except HostFault as fault:
            _log.warning("%s is crawled from the start, without its state: %s", site, fault)
        self._states.discard(site)
        return True

    # --- releasing ----------------------------------------------------------------------------

    def on_released(self, release: ReleaseSite) -> None:
        """The home names the peer that crawls a site after us."""
        self._successors[release.site] = release.successor

    def _is_mine(self, site: str) -> bool:
        return site in self._peer.site_table.crawled

    async def _stop_site(self, held: HeldSite) -> None:
        """The lease is over: fetch nothing more, and hand the site over if it is another peer's."""
        del self._held[held.site]
        self._complete.discard(held.site)
        if self._is_mine(held.site):
            self._unconfirmed[held.site] = held
            await self._export_site(held)
        else:
            await self._release_site(held)

    async def _export_site(self, held: HeldSite) -> bytes | None:
        """Close the site and return its state."""
        name = await self.crawler.export_site(Site(held.site), held.epoch)
        if name is None:
            return None
        state = self.crawler.state_bytes(name)
        self.crawler.remove_state(name)
        return state

    async def _release_site(self, held: HeldSite) -> None:
        state = await self._export_site(held)
        self._unconfirmed.pop(held.site, None)
        self._store.release_site(held.site, held.epoch, None)
        await self._replicate_packages(seal_open=True)
        await self.crawler.forget_site(Site(held.site))
        successor = self._take_successor(held.site)
        if successor is not None and state is not None:
            self._start_hand_over(held.site, held.epoch, successor, state)

    def _forward_state(self, site: str, now_s: float) -> None:
        """Forward a received state whose site was assigned to another peer before we started it."""
        since_s = self._wanted_since_s.setdefault(site, now_s)
        successor = self._take_successor(site)
        if successor is not None:
            self._start_hand_over(site, SiteEpoch(0), successor, self._states.read(site))
        recovered = site in self._states.recovered
        wait_s = RECOVERED_SECONDS_MAX if recovered else STATE_SECONDS_MAX
        if successor is not None or now_s - since_s > wait_s:
            self._states.discard(site)
            del self._wanted_since_s[site]

    def _start_hand_over(
        self, site: str, epoch: SiteEpoch, successor: PeerDescriptor, state: bytes
    ) -> None:
        task = asyncio.create_task(self._send_site(site, epoch, successor, state))
        self._handing_over.add(task)
        task.add_done_callback(self._handing_over.discard)

    def _take_successor(self, site: str) -> PeerDescriptor | None:
        record = self._peer.site_table.home_records.get(site)
        successor = self._successors.pop(site, None) or (
            None if record is None else delegate_descriptor(record)
        )
        return (
            successor
            if successor is not None and successor.address and successor.peer != self._peer.id
            else None
        )

    async def _send_site(
        self, site: str, epoch: SiteEpoch, successor: PeerDescriptor, state: bytes
    ) -> None:
        """Documents first. A successor that receives neither starts from the beginning."""
        try:
            for package in await asyncio.to_thread(self.packages.documents_of, site):
                await self._send(successor, "documents", site, epoch, package)
            await self._send(successor, "state", site, epoch, state)
        except PeerFault as fault:
            _log.warning("%s was not handed over to %s: %s", site, successor.peer, fault)

    # --- nearness -----------------------------------------------------------------------------

    async def round_trip_ms(self, site: str) -> float | None:
        """The round trip from here to a site, by the probes that the owner allows; None: no answer."""
        try:
            answer = await self._resolver.resolve(name_of(Site(site)))
        except (NoSuchName, NamesUnreachable):
            return None
        target = ProbeTarget(site=site, address=str(answer.addresses[0]), port=port_of(Site(site)))
        (result,) = await self._probe_service.run([target])
        return result.round_trip_ms

    # --- replicas -----------------------------------------------------------------------------

    async def _replicate_packages(self, seal_open: bool = False) -> None:
        """Store packages here and on a second peer; packages that are on both leave the spool."""
        if seal_open:
            await self.crawler.seal()
        if not (seal_open or self._rules.may_deliver()):
            return
        waiting = self.crawler.waiting_packages()
        for package in waiting:
            if package.sequence not in self._stored:
                await self._store_package(package)
        for package in waiting:
            digest = self._stored[package.sequence]
            if not await self._replicate(self.packages.package(digest)):
                return
            self.crawler.acknowledge(package)
            del self._stored[package.sequence]

    async def _store_package(self, package: PackageFile) -> None:
        data = await asyncio.to_thread(
            self.packages.complete_package, self.crawler.package_bytes(package)
        )
        self._queue_discovered(await asyncio.to_thread(self.packages.store, [data]))
        self._stored[package.sequence] = digest_of(data)

    def _queue_discovered(self, sites: set[Site]) -> None:
        if self.settings.overlay.follow_links:
            for site in sorted(sites - self._sites_seen):
                self.discovered.put_nowait(site)
            self._sites_seen |= sites

    async def _replicate(self, package: bytes) -> bool:
        replica_peers = self._replica_peers()
        for replica_peer in replica_peers[:REPLICA_PEERS_TRIED]:
            try:
                await self._send(replica_peer, "package", "", SiteEpoch(0), package)
            except PeerFault:
                continue
            return True
        return not replica_peers

    def _replica_peers(self) -> list[PeerDescriptor]:
        """Nearby peers in a stable order of our own, so that the pages of a site stay together."""
        around = [descriptor for descriptor in self._peer.nearby() if descriptor.address]
        return sorted(around, key=lambda descriptor: _draw(self._peer.id, descriptor.peer))

    async def _send(
        self, to: PeerDescriptor, kind: RpcKind, site: str, epoch: SiteEpoch, data: bytes
    ) -> None:
        await self._meter.wait_for_upload(len(data))
        self._meter.record_bytes(to.address, site, "peer", 0, len(data))
        await chunked_transfer.send_in_chunks(
            to.address, self._codec, self._peer.id, kind, site, epoch, data
        )

    def _store_state(self, chunk: TransferChunk, state: bytes) -> None:
        _check_state(chunk, state)
        self._states.store(chunk.site, state)

    async def _on_received(self, chunk: TransferChunk, data: bytes) -> None:
        if chunk.kind == "state":
            await asyncio.to_thread(self._store_state, chunk, data)
        else:
            self._arriving |= {chunk.site} & set(self._wanted_since_s)
            await asyncio.to_thread(self.packages.store, [data])


def _check_state(chunk: TransferChunk, state: bytes) -> None:
    """Refuse what is not a state, or one of another site, before it is stored."""
    try:
        found = site_in(chunks_in(state))
    except HostFault as fault:
        raise PeerFault(f"{chunk.sender} sent no state of {chunk.site}: {fault}") from None
    if found != chunk.site:
        raise PeerFault(f"{chunk.sender} sent a state of {found} as one of {chunk.site}")


def _draw(one: PeerId, other: PeerId) -> bytes:
    return blake2b(f"{one} {other}".encode(), digest_size=8).digest()

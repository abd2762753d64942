"""The sites a peer has a lease on -> a crawler at work on them, and what it brings home kept twice.

The crawler is a host's (`dock.crawling`), with its frontier, spool, meter and ledger. When a site goes to
another peer its documents go first, then its state (queue, validators, change history, clocks): so an
heir that has the state also has every page that the state calls known. An heir that is sent nothing in
time, since the former crawler is dead, begins the site anew and finds every page again.

Law: only what is leased is crawled, and only when the owner's rules allow it (`dock.rules`); sites wait while
the host rests. A package leaves the spool when another peer has it as well. What another peer sends is
acknowledged when it is durable here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from ipmicra.carrier.package import PackageFile, digest_of
from ipmicra.errors import HostFault
from ipmicra.host.hosted.in_process import InProcessCrawler
from ipmicra.host.hosted.interface import STATE_FOLDER
from ipmicra.host.limits.owner_rules import OwnerRules
from ipmicra.host.measuring.probe_service import ProbeService
from ipmicra.host.store import HeldSite, HostStore
from ipmicra.model.urls import Site, name_of, port_of
from ipmicra.net.dns_resolver import DnsResolver, NamesUnreachable, NoSuchName
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.site_table import delegate_card
from ipmicra.overlay.live import chunked_transfer
from ipmicra.overlay.live.package_store import PeerPackageStore
from ipmicra.overlay.live.received_states import ReceivedStates
from ipmicra.overlay.settings import PeerSettings
from ipmicra.protocol.host_messages import ProbeTarget
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, ReleaseSite, SiteRecord
from ipmicra.protocol.overlay_rpc import RpcKind, TransferChunk

LOOK_SECONDS = 0.5
STATE_SECONDS_MAX = (
    8.0  # an heir waits so long for the state, or for the next of the documents before it
)
RECOVERED_SECONDS_MAX = 600.0  # a state of before a restart waits so long for its site to be mine again
GRACE_SECONDS = 2.0
KEEPERS_TRIED = 4

_log = logging.getLogger(__name__)


class PeerCrawlService:
    """What one peer crawls and keeps. `run` works until cancelled; then close it."""

    def __init__(
        self,
        folder: Path,
        peer: Peer,
        seal: FrameCodec,
        settings: PeerSettings,
        reload: Callable[[], PeerSettings] | None = None,
    ) -> None:
        """With `reload` the owner's rules may change while the peer runs."""
        (folder / STATE_FOLDER).mkdir(parents=True, exist_ok=True)
        self._peer, self._seal = peer, seal
        self._ledger = HostStore(folder)
        self._rules = OwnerRules(folder, settings, self._ledger, lambda: datetime.now(UTC), reload)
        self._meter = self._rules.meter
        self.crawler = InProcessCrawler(folder / STATE_FOLDER, peer.id, settings, self._meter)
        self.shelf = PeerPackageStore(folder)
        self.parcels = chunked_transfer.ChunkedTransfer(self._received)
        self._names = DnsResolver(settings.fetching.dns_servers)
        self._soundings = ProbeService(
            lambda: self.settings,
            self._meter,
            self.crawler.passive,
            self._rules.reason_to_begin_nothing,
        )
        self._held: dict[str, HeldSite] = {}
        self._unconfirmed: dict[
            str, HeldSite
        ] = {}  # mine still, but the lease was not confirmed in time
        self._complete: set[str] = set()
        self.found: asyncio.Queue[Site] = asyncio.Queue()  # sites that pages link to, each once
        self._met: set[Site] = set()
        self._heirs: dict[str, PeerDescriptor] = {}
        self._states = ReceivedStates(folder)  # until I begin their sites
        self._wanted_since_s: dict[str, float] = {}
        self._arriving: set[str] = set()  # sites whose documents have come since I last looked
        self._shelved: dict[int, str] = {}  # packages that wait for a keeper: their digests on the shelf
        self._handing_over: set[asyncio.Task[None]] = set()

    @property
    def is_done(self) -> bool:
        """Nothing is left to be handed over or to be copied: the peer may go."""
        states = set(self._states) - self._states.recovered
        left = self._held or self._unconfirmed or states or self._handing_over
        return not left and not self.crawler.waiting()

    @property
    def settings(self) -> PeerSettings:
        return self._rules.settings

    def resting(self) -> str | None:
        """Why nothing is fetched now, by the owner's rules; None: it works."""
        return self._rules.reason_to_rest()

    async def run(self, clock: Callable[[], float]) -> None:
        try:
            while True:
                await self.looked(clock())
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            for task in self._handing_over:
                task.cancel()
            await self.crawler.stop(GRACE_SECONDS)

    async def close(self) -> None:
        await self._soundings.close()
        await self._names.close()
        await self.crawler.close()
        self._meter.flush()
        self.shelf.close()
        self._ledger.close()

    async def looked(self, now_s: float) -> None:
        """Once: stop what is not mine, begin what is, copy what came home."""
        await self._obeyed()
        leased = self._peer.leased(now_s)
        for held in [held for site, held in self._held.items() if site not in leased]:
            await self._stopped(held)
        for held in [held for site, held in self._unconfirmed.items() if not self._is_mine(site)]:
            await self._let_go(held)
        for site in [site for site in self._states if not self._is_mine(site)]:
            self._passed_on(site, now_s)
        for site, record in leased.items():
            if site not in self._held or self._held[site].epoch < record.epoch:
                await self._begun(site, record, now_s)
        await self._copied()
        if not (self.crawler.counts().pending or self.crawler.spool.unsealed or self.crawler.waiting()):
            self._complete |= set(self._held)

    async def _obeyed(self) -> None:
        """The crawler works, or not, as the owner's rules say."""
        self._meter.flush()
        if self._rules.look_around():
            self.crawler.settings = self._rules.settings
            self.crawler.drain()  # and begin again by the new rules
        self.crawler.check()
        if self._rules.reason_to_rest() is not None:
            await self.crawler.stop(0)
        elif self._rules.ends_soon():
            self.crawler.drain()
        else:
            self.crawler.start()

    def complete(self) -> list[str]:
        """The sites of which I have all that their former crawler had, or have been through once."""
        return sorted(self._complete)

    def held(self) -> list[str]:
        """The sites that are being crawled here."""
        return sorted(self._held)

    # --- beginning ----------------------------------------------------------------------------

    async def _begun(self, site: str, record: SiteRecord, now_s: float) -> None:
        held = self._held.get(site) or self._unconfirmed.get(site)
        is_here = site in self._held or (held is not None and held.epoch == record.epoch)
        if not is_here and not await self._is_ready(site, record, now_s):
            return
        held = HeldSite(site, record.epoch, "")
        self._wanted_since_s.pop(site, None)
        self._unconfirmed.pop(site, None)
        self._met.add(Site(site))
        if self._ledger.hold(held):
            self._held[site] = held
            self.crawler.hold(held)
            await self.crawler.give([f"{site}/"])

    async def _is_ready(self, site: str, record: SiteRecord, now_s: float) -> bool:
        """Whether the former crawler's state is here, or there is none to wait for any longer."""
        if site in self._states:
            return await self._take_over(site)
        if site in self._arriving:
            self._arriving.discard(site)
            self._wanted_since_s[site] = now_s
        since_s = self._wanted_since_s.setdefault(site, now_s)
        return record.epoch <= 1 or now_s - since_s > STATE_SECONDS_MAX

    async def _take_over(self, site: str) -> bool:
        """Import the state that was sent; one that cannot be read is no reason to leave the site alone."""
        try:
            await self.crawler.forget(Site(site))
            await self.crawler.take_over(self._states.read(site))
            self._complete.add(site)
        except HostFault as fault:
            _log.warning("%s begins anew, without its state: %s", site, fault)
        self._states.discard(site)
        return True

    # --- ending -------------------------------------------------------------------------------

    def released(self, release: ReleaseSite) -> None:
        """The home says who crawls a site after me."""
        self._heirs[release.site] = release.heir

    def _is_mine(self, site: str) -> bool:
        return site in self._peer.book.crawled

    async def _stopped(self, held: HeldSite) -> None:
        """Not leased any longer: nothing more is fetched, and what is not mine goes to its heir."""
        del self._held[held.site]
        self._complete.discard(held.site)
        if self._is_mine(held.site):
            self._unconfirmed[held.site] = held
            await self._exported(held)
        else:
            await self._let_go(held)

    async def _exported(self, held: HeldSite) -> bytes | None:
        """The site is closed: its state as it is then."""
        name = await self.crawler.release(Site(held.site), held.epoch)
        if name is None:
            return None
        state = self.crawler.state_bytes(name)
        self.crawler.remove_state(name)
        return state

    async def _let_go(self, held: HeldSite) -> None:
        state = await self._exported(held)
        self._unconfirmed.pop(held.site, None)
        self._ledger.let_go(held.site, held.epoch, None)
        await self._copied(seal=True)
        await self.crawler.forget(Site(held.site))
        heir = self._heir(held.site)
        if heir is not None and state is not None:
            self._hand_over(held.site, held.epoch, heir, state)

    def _passed_on(self, site: str, now_s: float) -> None:
        """What was sent to me for a site that is another's by now, before I began it, is sent after it."""
        since_s = self._wanted_since_s.setdefault(site, now_s)
        heir = self._heir(site)
        if heir is not None:
            self._hand_over(site, 0, heir, self._states.read(site))
        recovered = site in self._states.recovered
        patience_s = RECOVERED_SECONDS_MAX if recovered else STATE_SECONDS_MAX
        if heir is not None or now_s - since_s > patience_s:
            self._states.discard(site)
            del self._wanted_since_s[site]

    def _hand_over(self, site: str, epoch: int, heir: PeerDescriptor, state: bytes) -> None:
        task = asyncio.create_task(self._handed_over(site, epoch, heir, state))
        self._handing_over.add(task)
        task.add_done_callback(self._handing_over.discard)

    def _heir(self, site: str) -> PeerDescriptor | None:
        homed = self._peer.book.homed.get(site)
        heir = self._heirs.pop(site, None) or (None if homed is None else delegate_card(homed))
        return heir if heir is not None and heir.address and heir.peer != self._peer.id else None

    async def _handed_over(self, site: str, epoch: int, heir: PeerDescriptor, state: bytes) -> None:
        """Documents first. An heir that gets neither begins anew."""
        try:
            for package in await asyncio.to_thread(self.shelf.documents_of, site):
                await self._sent(heir, "documents", site, epoch, package)
            await self._sent(heir, "state", site, epoch, state)
        except HostFault as fault:
            _log.warning("%s was not handed over to %s: %s", site, heir.peer, fault)

    # --- nearness -----------------------------------------------------------------------------

    async def round_trip_ms(self, site: str) -> float | None:
        """From here to a site, by the probes that this host's owner has set; None: no answer."""
        try:
            answer = await self._names.resolve(name_of(Site(site)))
        except (NoSuchName, NamesUnreachable):
            return None
        target = ProbeTarget(site=site, address=str(answer.addresses[0]), port=port_of(Site(site)))
        (result,) = await self._soundings.of([target])
        return result.round_trip_ms

    # --- copies -------------------------------------------------------------------------------

    async def _copied(self, seal: bool = False) -> None:
        """Packages to my shelf and to a keeper's; those that are on both leave the spool."""
        if seal:
            await self.crawler.seal()
        if not (seal or self._rules.may_deliver()):
            return
        waiting = self.crawler.waiting()
        for package in waiting:
            if package.sequence not in self._shelved:
                await self._put_on_shelf(package)
        for package in waiting:
            digest = self._shelved[package.sequence]
            if not await self._kept_elsewhere(self.shelf.package(digest)):
                return
            self.crawler.acknowledge(package)
            del self._shelved[package.sequence]

    async def _put_on_shelf(self, package: PackageFile) -> None:
        data = await asyncio.to_thread(self.shelf.whole, self.crawler.package_bytes(package))
        self._note_found(await asyncio.to_thread(self.shelf.put, [data]))
        self._shelved[package.sequence] = digest_of(data)

    def _note_found(self, sites: set[Site]) -> None:
        if self.settings.overlay.follow_links:
            for site in sorted(sites - self._met):
                self.found.put_nowait(site)
            self._met |= sites

    async def _kept_elsewhere(self, package: bytes) -> bool:
        keepers = self._keepers()
        for keeper in keepers[:KEEPERS_TRIED]:
            try:
                await self._sent(keeper, "package", "", 0, package)
            except HostFault:
                continue
            return True
        return not keepers

    def _keepers(self) -> list[PeerDescriptor]:
        """The peers around in an order that is my own and stays, so that a site's pages stay together."""
        around = [card for card in self._peer.around() if card.address]
        return sorted(around, key=lambda card: _draw(self._peer.id, card.peer))

    async def _sent(self, to: PeerDescriptor, kind: RpcKind, site: str, epoch: int, data: bytes) -> None:
        await self._meter.upload_turn(len(data))
        self._meter.count(to.address, site, "peer", 0, len(data))
        await chunked_transfer.sent(to.address, self._seal, self._peer.id, kind, site, epoch, data)

    async def _received(self, parcel: TransferChunk, data: bytes) -> None:
        if parcel.kind == "state":
            await asyncio.to_thread(self._states.keep, parcel.site, data)
        else:
            self._arriving |= {parcel.site} & set(self._wanted_since_s)
            await asyncio.to_thread(self.shelf.put, [data])


def _draw(one: PeerId, other: PeerId) -> bytes:
    return blake2b(f"{one} {other}".encode(), digest_size=8).digest()

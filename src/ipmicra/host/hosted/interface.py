"""The interface of a hosted crawler, in process or in a sandbox.

Two implementations: `in_process.InProcessCrawler` in the host's own process, and
`sandboxed.SandboxedCrawler`, which talks to one in a sandbox. Invariant: `add_site` and the properties
never wait; all else may. Data that a method promises to be durable is durable on return. Files that the
crawler wrote are read through here only, since they may contain anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ipmicra.carrier.package import PackageFile
from ipmicra.crawler.frontier import Counts
from ipmicra.host.settings import HostingSettings
from ipmicra.host.store import HeldSite
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Site, Url, name_of, site_of
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.protocol.host_messages import PageObservation

STATE_FOLDER = "crawler"  # in the host's folder: all that a hosted crawler may write


class HeldSites:
    """The bounds of the crawl: the sites of this host now, with the address at which each is crawled."""

    def __init__(self) -> None:
        self.addresses: dict[Site, str] = {}

    def holds(self, url: Url) -> bool:
        return site_of(url) in self.addresses

    def pins(self) -> dict[str, str]:
        """Addresses by name."""
        return {name_of(site): address for site, address in self.addresses.items() if address}


class HostedCrawler(Protocol):
    """A crawler on a host. Stop it before closing it."""

    settings: HostingSettings  # new ones apply from the next start
    held: HeldSites
    passive: PassiveRoundTrips

    @property
    def is_working(self) -> bool: ...

    def start(self) -> None:
        """Start to work, unless it is working."""

    async def stop(self, grace_seconds: float) -> None:
        """Start no more requests; those still in progress after the grace are aborted."""

    def drain(self) -> None:
        """Start no more requests."""

    def check(self) -> None:
        """Raise the defect that ended the work, if there was one."""

    def counts(self) -> Counts: ...

    async def close(self) -> None: ...

    # --- sites --------------------------------------------------------------------------------------

    def add_site(self, held: HeldSite) -> None:
        """Follow links to the site from now on."""

    async def enqueue(self, urls: Iterable[str]) -> None:
        """Queue URLs of assigned sites; durable on return."""

    async def force_full_resend(self, urls: Iterable[str]) -> None:
        """Visit pages of held sites again, and send them whole; durable on return.

        Raises HostFault where the code in a sandbox is too old to do so.
        """

    async def import_site(self, state: bytes) -> Site:
        """Continue from a former crawler's state of a site. The site must not be assigned here yet."""
        ...

    async def export_site(self, site: Site, epoch: SiteEpoch) -> str | None:
        """Start no more requests to a site, finish those in progress within seconds, and export its
        state. Returns the name of the state file, or None.
        """

    async def forget_site(self, site: Site) -> None:
        """Remove everything known about the site."""

    async def observe(self, url: str) -> PageObservation:
        """Observe a page from here, whichever host crawls its site."""
        ...

    # --- files --------------------------------------------------------------------------------------

    def state_bytes(self, name: str) -> bytes:
        """A state that was released. Raises FileNotFoundError."""
        ...

    def remove_state(self, name: str) -> None: ...

    async def seal(self) -> bool:
        """Seal unsealed records into a package. False if there were none."""
        ...

    async def next_package(self) -> int:
        """The number of the next package."""
        ...

    def waiting_packages(self) -> list[PackageFile]:
        """Packages not yet acknowledged, oldest first."""
        ...

    def package_bytes(self, package: PackageFile) -> bytes: ...

    def acknowledge(self, package: PackageFile) -> None:
        """The coordinator stores the package durably: remove it."""

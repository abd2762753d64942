"""What the dock wants of the crawler that lives in it, wherever that runs.

Two of them: `crawling.Crawler` in the dock's own process, and `sandboxed.SandboxedCrawler`, which speaks to
one that runs in a sandbox. Law: `hold` and the properties never wait; all else may. What a method promises
to be durable is durable on return. Files that the crawler wrote are read through here only, since they may
be anything.
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

STATE_FOLDER = "crawler"  # in the host's folder: all that a tenant may write


class HeldSites:
    """The bounds of the crawl: the sites that are this host's now, with the address each is crawled at."""

    def __init__(self) -> None:
        self.addresses: dict[Site, str] = {}

    def holds(self, url: Url) -> bool:
        return site_of(url) in self.addresses

    def pins(self) -> dict[str, str]:
        """Addresses by name."""
        return {name_of(site): address for site, address in self.addresses.items() if address}


class HostedCrawler(Protocol):
    """A crawler that lives on a host. Close it; stop it before."""

    settings: HostingSettings  # other ones count from the next start on
    held: HeldSites
    passive: PassiveRoundTrips

    @property
    def is_working(self) -> bool: ...

    def start(self) -> None:
        """Begin to work, if it does not."""

    async def stop(self, grace_seconds: float) -> None:
        """Begin nothing more; what is still under way after the grace is broken off."""

    def drain(self) -> None:
        """Begin nothing more."""

    def check(self) -> None:
        """Raise what has ended the work, if it was a defect."""

    def counts(self) -> Counts: ...

    async def close(self) -> None: ...

    # --- sites --------------------------------------------------------------------------------------

    def add_site(self, held: HeldSite) -> None:
        """Links to the site are followed from now on."""

    async def enqueue(self, urls: Iterable[str]) -> None:
        """URLs of held sites to be crawled; durable on return."""

    async def force_full_resend(self, urls: Iterable[str]) -> None:
        """Visit pages of held sites again, and send them whole; durable on return.

        Raises HostFault where the code in a sandbox is too old to do so.
        """

    async def import_site(self, state: bytes) -> Site:
        """Go on where a former crawler of a site was. The site must not be held yet."""
        ...

    async def export_site(self, site: Site, epoch: SiteEpoch) -> str | None:
        """Begin no further request to a site; what is under way ends first, within seconds, so that its next
        crawler asks for nothing again. Returns the name of the file that has its state, if it has any.
        """

    async def forget_site(self, site: Site) -> None:
        """Nothing of the site is known here any more."""

    async def observe(self, url: str) -> PageObservation:
        """How a page looks from here, whoever crawls its site."""
        ...

    # --- files --------------------------------------------------------------------------------------

    def state_bytes(self, name: str) -> bytes:
        """A state that was released. Raises FileNotFoundError."""
        ...

    def remove_state(self, name: str) -> None: ...

    async def seal(self) -> bool:
        """What is unsealed becomes a package. False: there was nothing."""
        ...

    async def next_package(self) -> int:
        """The number that the next package will have."""
        ...

    def waiting_packages(self) -> list[PackageFile]:
        """Packages not yet acknowledged, oldest first."""
        ...

    def package_bytes(self, package: PackageFile) -> bytes: ...

    def acknowledge(self, package: PackageFile) -> None:
        """The coordinator holds the package durably: forget it."""

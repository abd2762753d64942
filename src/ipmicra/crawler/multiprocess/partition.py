"""Sites that are open here and belong elsewhere -> mailbox items; mailbox items for us -> the frontier.

Invariant: a site changes hands only while no site worker of ours has it open. One that was never fetched
from here goes as links; one that was goes whole, with its clocks, validators and history.
"""

from __future__ import annotations

from collections.abc import Container

from ipmicra.crawler.frontier import Frontier, FrontierSite
from ipmicra.crawler.multiprocess.mailbox import Mailbox

LINKS_PER_ITEM = 10_000


class SitePartition:
    """The other processes of the crawl, as seen by one."""

    def __init__(self, frontier: Frontier, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self._frontier = frontier
        self._leaving: dict[int, tuple[FrontierSite, int]] = {}

    def is_foreign(self, address: str) -> bool:
        return self.mailbox.owner_of(address) is not None

    def release_if_foreign(self, site: FrontierSite, address: str) -> bool:
        """Whether the site is another's, since its address is; if so, it leaves when its site worker
        is closed.
        """
        owner = self.mailbox.owner_of(address)
        if owner is None:
            return False
        self._leaving[site.id] = (site, owner)
        return True

    def flush(self, closed_sites: Container[int]) -> None:
        """Send what leaves and is closed. All that is known of it must be committed."""
        for site_id in [site_id for site_id in self._leaving if site_id in closed_sites]:
            site, owner = self._leaving.pop(site_id)
            if site.pages_fetched:
                self.mailbox.send_site(owner, site.site, self._frontier.export_site(site.site))
                self._frontier.forget_site(site.site)
            else:
                self._send_links(site, owner)

    def _send_links(self, site: FrontierSite, owner: int) -> None:
        while rows := self._frontier.queued_urls(site, LINKS_PER_ITEM):
            self.mailbox.send_links(owner, [row.link for row in rows])
            self._frontier.remove(site, rows)

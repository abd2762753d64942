"""A BoxWorld -> its sites with their pages, and the name server's answers for each client."""

from __future__ import annotations

from collections.abc import Sequence

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.lab.box.world.box_world import BoxSite, BoxWorld
from ipmicra.lab.loopback.names import Addresses
from ipmicra.lab.loopback.pages import PARAGRAPH_BYTES, TOPICS, MadeSite, fill

HEAD_BYTES = 600  # of a page without prose: title and links


def made_web(world: BoxWorld) -> dict[str, MadeSite]:
    """The sites by name, their pages always the same for the world's seed."""
    topics = sorted(TOPICS)
    made = [
        MadeSite(site.name, site.stands[0].places[0], topics[number % len(topics)])
        for number, site in enumerate(world.file.sites)
    ]
    for number, site in enumerate(world.file.sites):
        paragraphs = max(0, round((site.page_bytes - HEAD_BYTES) / PARAGRAPH_BYTES))
        fill(made[number], number, made, world.file.seed, site.pages, paragraphs=paragraphs)
    return {site.name: site for site in made}


def urls_of(web: dict[str, MadeSite]) -> set[str]:
    """Every page there is."""
    return {f"http://{site.name}{path}" for site in web.values() for path in site.pages}


class BoxNameServer:
    """The name server's data: for a site with several stands, the one nearest to the client."""

    def __init__(self, world: BoxWorld) -> None:
        self._world = world
        self._sites = {site.name: site for site in world.file.sites}
        self._askers = {
            address: crawler.place for crawler in world.file.crawlers for address in crawler.addresses
        }

    def seen_from(self, asker: str) -> Addresses:
        place = self._askers.get(asker, self._world.file.coordinator.place)

        def addresses_of(name: str) -> Sequence[IPAddress] | None:
            site = self._sites.get(name)
            return None if site is None else self._addresses(place, site)

        return addresses_of

    def _addresses(self, place: str, site: BoxSite) -> list[IPAddress]:
        stand = site.stands[0]
        if len(site.stands) > 1:
            stand = self._world.nearest_stand(place, site)
        return [AddressRange.parse(text).first_address() for text in stand.addresses]

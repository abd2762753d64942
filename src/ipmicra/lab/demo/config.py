"""A seed and ports -> what the demo plays with: sites in twelve cities, hosts in four, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address
from pathlib import Path

from ipmicra.lab.loopback.layout import POSITIONS, WebLayout, crawler_address
from ipmicra.lab.loopback.pages import MadeSite, made_sites

HOST_CITIES = ("Toronto", "Oslo", "Nairobi", "Osaka")
SITES = 36
PAGES = 8


@dataclass(frozen=True)
class DemoConfig:
    """All that the demo's processes must agree on."""

    seed: int
    folder: Path
    web_port: int
    names_port: int
    coordinator_port: int
    sites_count: int = SITES
    pages_count: int = PAGES

    @cached_property
    def layout(self) -> WebLayout:
        return WebLayout.of(made_sites(self.seed, self.sites_count, self.pages_count, self.web_port))

    @property
    def sites(self) -> dict[IPv4Address, MadeSite]:
        return self.layout.sites

    @property
    def coordinator(self) -> str:
        return f"http://127.0.0.1:{self.coordinator_port}"

    @property
    def pages_total(self) -> int:
        return sum(len(site.pages) for site in self.sites.values())

    @property
    def html_bytes(self) -> int:
        return sum(
            len(page.html.encode()) for site in self.sites.values() for page in site.pages.values()
        )

    def url(self, site: MadeSite, path: str = "/") -> str:
        return f"http://{site.name}:{self.web_port}{path}"

    def front_pages(self) -> list[str]:
        return [self.url(site) for site in self.sites.values()]

    def settings(self, whose: str) -> dict[str, str]:
        """The settings of the coordinator ("home") or of a host (its city)."""
        common = {
            "general.data_folder": str(self.folder / whose.lower()),
            "fetching.dns_servers": f'["127.0.0.1:{self.names_port}"]',
            "fetching.open_ranges": '["127.0.0.0/8"]',
            "crawler.contact": "demo@example.org",
        }
        home = {"coordinator.explanations_per_second_max": "0"}  # the demo asks about every site at once
        return common | (home if whose == "home" else self._host_settings(whose))

    def _host_settings(self, city: str) -> dict[str, str]:
        """Delays are the server's here: a probe is the time to an answer, by a second try."""
        latitude, longitude = POSITIONS[city]
        return {
            "fetching.source_address": str(crawler_address(city)),
            "probing.ways": '["answer"]',
            "probing.tries": "2",
            "host.position": f"{latitude}, {longitude}",
            "host.cpu_share_max": "2.0",
            "crawler.delay_seconds_min": "0.05",
            "crawler.response_time_factor": "0.5",
            "crawler.package_seconds_max": "2",
        }

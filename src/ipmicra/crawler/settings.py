"""The knobs of a crawl. robots.txt and back-off have none: they cannot be switched off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import can_ada
import msgspec

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.model.urls import TRACKING_PARAMETERS
from ipmicra.setting_fields import described_text, setting_field


class RateOverrideSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A site that the operator answers for: his own, a demo's, a benchmark's."""

    site: str
    requests_per_second: Annotated[float, setting_field("From start to start.", above=0)]
    connections: Annotated[int, setting_field("At once, to the site and its address.", at_least=1)] = 1

    def __post_init__(self) -> None:
        """A grant that no site's name equals would be shown at start and never used."""
        name = f"[{self.site}]" if self.site.count(":") > 1 and self.site[:1] != "[" else self.site
        try:
            written = can_ada.parse(f"http://{name}/").host
        except ValueError:
            written = ""
        if written != name.removesuffix(":80"):
            hint = f"; write {written!r}" if written else ""
            raise ValueError(
                f"{self.site!r} is not the name of a site, such as example.org or example.org:8080{hint}"
            )


class CrawlerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who we say we are, how politely we ask, how much of a site we take, and when we come back."""

    contact: Annotated[
        str,
        described_text(
            "A URL or mail address that site owners can turn to; needed on the Internet.",
            pattern=r"|https?://\S+|\S+@\S+",
        ),
    ] = ""
    product: Annotated[
        str,
        described_text("The name that robots.txt files know this crawler by.", pattern="[A-Za-z_-]+"),
    ] = "ipmicra"
    delay_seconds_min: Annotated[
        float, setting_field("The least pause between two requests to one site or address.", at_least=0)
    ] = 1.0
    response_time_factor: Annotated[
        float, setting_field("The pause is at least this many times the last response time.", at_least=0)
    ] = 5.0
    grants: Annotated[
        tuple[RateOverrideSettings, ...],
        setting_field("Sites that you answer for: { site, requests_per_second, connections }."),
    ] = ()
    site_pages_max: Annotated[int, setting_field("Pages fetched of one site.", at_least=0)] = 1_000_000
    site_bytes_max: Annotated[int, setting_field("Bytes fetched of one site.", at_least=0)] = 100 << 30
    depth_max: Annotated[int, setting_field("Links from a seed that are followed.", at_least=0)] = 50
    dropped_parameters: Annotated[
        tuple[str, ...], setting_field("Query parameters that never choose a page; * ends a prefix.")
    ] = TRACKING_PARAMETERS
    sites_open_max: Annotated[
        int,
        setting_field(
            "Sites crawled at the same time; each costs a connection and up to a page.", at_least=1
        ),
    ] = 1_000
    retries_max: Annotated[
        int, setting_field("Further tries after a failure that may pass.", at_least=0)
    ] = 2
    retry_seconds: Annotated[
        float, setting_field("The pause before the first retry; it doubles with each.", at_least=0)
    ] = 30.0
    patience_seconds: Annotated[
        float,
        setting_field(
            "A crawl without --watch ends when nothing can be fetched for this long.", at_least=0
        ),
    ] = 180.0
    commit_pages: Annotated[
        int,
        setting_field(
            "Pages in one transaction; after a crash at most these are fetched again.", at_least=1
        ),
    ] = 200
    commit_seconds: Annotated[
        float, setting_field("The longest time between two transactions.", above=0)
    ] = 1.0
    package_records_max: Annotated[
        int, setting_field("Records in one package; larger ones compress better.", at_least=1)
    ] = 20_000
    package_bytes_max: Annotated[
        int,
        setting_field(
            "Bytes of records in one package, before compression; they wait on disk.", at_least=1
        ),
    ] = 32 << 20
    package_seconds_max: Annotated[
        float, setting_field("A package is sealed after this time at the latest.", at_least=0)
    ] = 60.0
    package_level: Annotated[
        int,
        setting_field(
            "How hard packages are compressed, 1 to 19; 0: harder where pages are of many sites.",
            at_least=0,
        ),
    ] = 0
    recent_urls_max: Annotated[
        int,
        setting_field("Links remembered in memory, to spare look-ups; some 150 bytes each.", at_least=0),
    ] = 200_000
    revisit_seconds_min: Annotated[
        float, setting_field("The shortest time between two visits.", above=0)
    ] = 3_600.0
    revisit_seconds_max: Annotated[
        float, setting_field("The longest time between two visits.", above=0)
    ] = 2_592_000.0
    revisit_seconds_first: Annotated[
        float,
        setting_field("The time to the second visit, unless the site's sitemap gives a hint.", above=0),
    ] = 86_400.0
    revisit_bytes_per_day: Annotated[
        int,
        setting_field("What all revisits of a day may cost together; 0 is without limit.", at_least=0),
    ] = 0


class CrawlSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a crawl is run by. The command line takes it from the settings."""

    data_folder: Path
    crawler: CrawlerSettings = CrawlerSettings()
    fetching: FetchingSettings = FetchingSettings()

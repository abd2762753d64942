"""Settings of a crawl. robots.txt and back-off have none: they cannot be switched off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from ipmicra.crawler.decisions.politeness import RateOverride
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.model.urls import TRACKING_PARAMETERS
from ipmicra.setting_fields import described_text, setting_field


class CrawlerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Our User-Agent, politeness, limits per site, and revisits."""

    contact: Annotated[
        str,
        described_text(
            "A URL or mail address at which site owners can reach you; required on the Internet.",
            pattern=r"|https?://\S+|\S+@\S+",
        ),
    ] = ""
    product: Annotated[
        str,
        described_text(
            "The product name for which robots.txt rules are applied.", pattern="[A-Za-z_-]+"
        ),
    ] = "ipmicra"
    delay_seconds_min: Annotated[
        float,
        setting_field(
            "Minimum pause between two requests to one site or address, in seconds.", at_least=0
        ),
    ] = 1.0
    response_time_factor: Annotated[
        float, setting_field("The pause is at least this many times the last response time.", at_least=0)
    ] = 5.0
    grants: Annotated[
        tuple[RateOverride, ...],
        setting_field("Rate overrides for your own sites: { site, requests_per_second, connections }."),
    ] = ()
    site_pages_max: Annotated[
        int, setting_field("Maximum number of pages fetched from one site.", at_least=0)
    ] = 1_000_000
    site_bytes_max: Annotated[int, setting_field("Maximum bytes fetched from one site.", at_least=0)] = (
        100 << 30
    )
    depth_max: Annotated[int, setting_field("Maximum number of links from a seed.", at_least=0)] = 50
    dropped_parameters: Annotated[
        tuple[str, ...], setting_field("Query parameters that are removed from URLs; * ends a prefix.")
    ] = TRACKING_PARAMETERS
    sites_open_max: Annotated[
        int,
        setting_field(
            "Maximum number of sites crawled at the same time; each costs a connection and up "
            "to one page of memory.",
            at_least=1,
        ),
    ] = 1_000
    retries_max: Annotated[
        int, setting_field("Maximum number of retries after a temporary failure.", at_least=0)
    ] = 2
    retry_seconds: Annotated[
        float,
        setting_field(
            "Pause before the first retry, in seconds; doubled for each further one.", at_least=0
        ),
    ] = 30.0
    patience_seconds: Annotated[
        float,
        setting_field(
            "A crawl without --watch ends when nothing can be fetched for this many seconds.", at_least=0
        ),
    ] = 180.0
    commit_pages: Annotated[
        int,
        setting_field(
            "Number of pages per transaction; after a crash at most these are fetched again.", at_least=1
        ),
    ] = 200
    commit_seconds: Annotated[
        float, setting_field("Maximum time between two transactions, in seconds.", above=0)
    ] = 1.0
    package_records_max: Annotated[
        int,
        setting_field(
            "Maximum number of records in one package; larger packages compress better.", at_least=1
        ),
    ] = 20_000
    package_bytes_max: Annotated[
        int,
        setting_field(
            "Maximum bytes of records in one package before compression; they wait on disk.", at_least=1
        ),
    ] = 32 << 20
    package_seconds_max: Annotated[
        float, setting_field("Maximum time until a package is sealed, in seconds.", at_least=0)
    ] = 60.0
    package_level: Annotated[
        int,
        setting_field(
            "Compression level of packages, 1 to 19; 0: chosen by how varied the sites are.",
            at_least=0,
        ),
    ] = 0
    recent_urls_max: Annotated[
        int,
        setting_field(
            "Maximum number of links remembered in memory, to save look-ups; about 150 bytes each.",
            at_least=0,
        ),
    ] = 200_000
    parser_seconds_max: Annotated[
        float,
        setting_field(
            "Processor time to parse a large page or a PDF in a process of its own, in seconds; then it is "
            "killed.",
            above=0,
        ),
    ] = 10.0
    parser_memory_bytes_max: Annotated[
        int,
        setting_field("Memory of such a process in bytes; there are at most two.", at_least=256 << 20),
    ] = 1 << 30
    revisit_seconds_min: Annotated[
        float, setting_field("Minimum time between two visits of a page, in seconds.", above=0)
    ] = 3_600.0
    revisit_seconds_max: Annotated[
        float, setting_field("Maximum time between two visits of a page, in seconds.", above=0)
    ] = 2_592_000.0
    revisit_seconds_first: Annotated[
        float,
        setting_field(
            "Time to the second visit in seconds, unless the site's sitemap gives a hint.", above=0
        ),
    ] = 86_400.0
    revisit_bytes_per_day: Annotated[
        int,
        setting_field("Maximum bytes per day of all revisits together; 0 means no limit.", at_least=0),
    ] = 0


class CrawlSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that one crawl uses. The command line takes them from the settings file."""

    data_folder: Path
    crawler: CrawlerSettings = CrawlerSettings()
    fetching: FetchingSettings = FetchingSettings()

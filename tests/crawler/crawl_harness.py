"""One crawl of local sites in a temporary folder, and what came home from it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ipmicra.carrier.package import packages_in, unpack
from ipmicra.crawler.crawl import Crawl, CrawlRequest
from ipmicra.crawler.decisions.politeness import RateOverride
from ipmicra.crawler.frontier import Counts
from ipmicra.crawler.progress import Progress
from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.model.records import (
    FetchMeasurement,
    PageChanged,
    PageGone,
    PageMoved,
    PageSeen,
    VisitFailed,
)
from ipmicra.settings import GeneralSettings, Settings, load_settings

Visit = PageSeen | PageChanged | PageGone | PageMoved | VisitFailed


def settings_for(folder: Path, **crawler: object) -> Settings:
    """Loopback opened, 127.0.0.1 granted, nothing waited for."""
    settings, _ = load_settings(None, {})
    values = {
        "grants": (RateOverride(site="127.0.0.1", requests_per_second=2000, connections=4),),
        "commit_seconds": 0.05,
        "retry_seconds": 0.05,
        "patience_seconds": 0.5,
        **crawler,
    }
    return msgspec.structs.replace(
        settings,
        general=GeneralSettings(data_folder=str(folder)),
        crawler=msgspec.convert(values, CrawlerSettings),
        fetching=msgspec.structs.replace(
            settings.fetching, open_ranges=("127.0.0.0/8",), first_byte_ms_max=2_000
        ),
    )


async def crawl(
    folder: Path, *seeds: str, wish: CrawlRequest | None = None, **crawler: object
) -> Outcome:
    wish = wish or CrawlRequest(seeds=seeds)
    job = Crawl(settings_for(folder, **crawler).crawl, wish)
    progress, counts = await job.run()
    return Outcome(progress, counts, job)


class Outcome:
    """What a crawl did, and the records in its packages."""

    def __init__(self, progress: Progress, counts: Counts, job: Crawl) -> None:
        self.progress, self.counts, self.job = progress, counts, job
        self.records = records_in(job.spool_folder)

    def seen(self) -> set[str]:
        return {record.url for record in self.records if isinstance(record, PageSeen)}

    def failures(self) -> dict[str, str]:
        return {record.url: record.kind for record in self.records if isinstance(record, VisitFailed)}


def records_in(spool: Path) -> list[Visit]:
    found = [record for file in packages_in(spool) for record in unpack(file.path.read_bytes()).records]
    return [record for record in found if not isinstance(record, FetchMeasurement)]

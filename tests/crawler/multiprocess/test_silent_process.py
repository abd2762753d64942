"""A process of a crawl that does not answer is started again without the page that it hung on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ipmicra.crawler.crawl import Crawl, CrawlRequest
from ipmicra.crawler.multiprocess import supervisor
from ipmicra.crawler.multiprocess.supervisor import CrawlSupervisor
from ipmicra.model.records import VisitFailed
from tests.crawler.crawl_harness import records_in, settings_for
from tests.crawler.local_site import Answer, LocalSite, html
from tests.crawler.multiprocess import hanging_worker

SECONDS_MAX = 100.0  # of a busy machine; then the crawl is killed, and the test fails
PAGES = {"/robots.txt": Answer(status=404), "/": html("/hang"), "/hang": html(text="hang here")}


def test_a_process_that_hangs_is_begun_anew_without_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "work", hanging_worker.work)
    monkeypatch.setattr(supervisor, "SILENT_SECONDS_MAX", 5.0)

    async def story() -> Crawl:
        async with LocalSite(PAGES).serving() as site:
            crawl = Crawl(settings_for(tmp_path).crawl, CrawlRequest((f"{site.address}/",)))
            team = CrawlSupervisor(crawl, 2)
            running = asyncio.create_task(asyncio.to_thread(team.run, lambda *_: None))
            done, _ = await asyncio.wait([running], timeout=SECONDS_MAX)
            if not done:
                team.kill()
            await running
            assert site.paths().count("/hang") == 1
        return crawl

    crawl = asyncio.run(story())
    folders = crawl.spool_folder.parent.glob("*")
    records = [record for folder in folders for record in records_in(folder)]
    kinds = [record.kind for record in records if isinstance(record, VisitFailed)]
    assert kinds == ["processing_killed"]

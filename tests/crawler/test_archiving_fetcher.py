"""A crawl with --warc: every answer is in the archive as it crossed the wire, and found by the search."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from ipmicra.crawler.crawl import CrawlRequest
from ipmicra.model.search import SearchRequest
from ipmicra.search.spool_ingest import integrate_all, waiting_packages
from ipmicra.search.tantivy.index import TantivyIndex
from tests.crawler.crawl_harness import crawl
from tests.crawler.local_site import Answer, LocalSite, html

ZIPPED = gzip.compress(b"<html lang=en><title>Zipped</title><p>pelicans")


def test_raw_answers_are_archived_and_the_pages_can_be_searched(tmp_path: Path) -> None:
    async def story() -> None:
        headers = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
        async with LocalSite({"/": html("/z"), "/z": Answer(ZIPPED, headers=headers)}).serving() as site:
            wish = CrawlRequest(seeds=(site.address,), warc=tmp_path / "crawl.warc.gz")
            await crawl(tmp_path, wish=wish)
        with (tmp_path / "crawl.warc.gz").open("rb") as file:
            archived = {
                record.rec_headers["WARC-Target-URI"]: record.content_stream().read()
                for record in ArchiveIterator(file, check_digests="raise")
                if record.rec_type == "response"
            }
        assert archived[f"{site.address}/z"] == gzip.decompress(ZIPPED)
        assert f"{site.address}/robots.txt" in archived
        index = TantivyIndex(tmp_path / "index", writable=True)
        assert integrate_all(index, waiting_packages(tmp_path), tmp_path).refused == []
        assert [hit.title for hit in index.search(SearchRequest(text="pelican")).hits] == ["Zipped"]
        index.close()

    asyncio.run(story())

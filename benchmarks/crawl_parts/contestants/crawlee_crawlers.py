"""Crawlee for Python in two ways: its ParselCrawler as documented, its HttpCrawler with our parser.

python -m benchmarks.crawl_parts.contestants.crawlee_crawlers WAY STARTS PATTERN OUTPUT
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from pathlib import Path

from crawlee import ConcurrencySettings, Request
from crawlee.configuration import Configuration
from crawlee.crawlers import HttpCrawler, ParselCrawler
from crawlee.storage_clients import MemoryStorageClient

from ipmicra.crawler.crawl import tune_process
from ipmicra.crawler.extraction import extract


def options(output):
    return {
        "concurrency_settings": ConcurrencySettings(desired_concurrency=50, max_concurrency=100),
        "storage_client": MemoryStorageClient(),
        "configuration": Configuration(log_level="ERROR", disable_browser_sandbox=True),
        "configure_logging": False,
        "max_request_retries": 0,
        "ignore_http_error_status_codes": [404],
    }


def with_our_parser(pattern, output):
    crawler = HttpCrawler(**options(output))
    wanted = re.compile(pattern)
    known = set()

    @crawler.router.default_handler
    async def handle(context):
        body = await context.http_response.read()
        if context.http_response.status_code != 200:
            return
        page = extract(body, context.http_response.headers.get("content-type", ""), context.request.url)
        links = [link.url.partition("#")[0] for link in page.links]
        output.write(json.dumps({"url": page.url, "title": page.title, "text": page.text}) + "\n")
        new = [link for link in dict.fromkeys(links) if link not in known and wanted.search(link)]
        known.update(new)
        await context.add_requests([Request.from_url(link) for link in new])

    return crawler


def documented(pattern, output):
    crawler = ParselCrawler(**options(output))
    wanted = re.compile(pattern)

    @crawler.router.default_handler
    async def handle(context):
        text = " ".join(context.selector.css("body ::text").getall())
        title = context.selector.css("title::text").get()
        output.write(json.dumps({"url": context.request.url, "title": title, "text": text}) + "\n")
        await context.enqueue_links(include=[wanted])

    return crawler


WAYS = {"documented": documented, "our-parser": with_our_parser}


def main() -> None:
    way, starts, pattern, output_path = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    tune_process()
    with Path(output_path).open("w", encoding="utf-8") as output:
        crawler = WAYS[way](pattern, output)
        asyncio.run(crawler.run(Path(starts).read_text().split()))


if __name__ == "__main__":
    main()

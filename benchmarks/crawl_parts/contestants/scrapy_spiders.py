"""Scrapy in four ways: as its documentation shows, tuned with lxml, and tuned with our own parser twice.

python -m benchmarks.crawl_parts.contestants.scrapy_spiders WAY STARTS PATTERN OUTPUT
"""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path
from urllib.parse import urljoin

import lxml.html
import scrapy
from isal import isal_zlib
from scrapy.core.downloader.handlers._aiohttp import AiohttpDownloadHandler
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from ipmicra.crawler.crawl import tune_process
from ipmicra.crawler.extraction import extract

REACTOR = {
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
}
DOCUMENTED = {"ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 100}
TUNED = {
    **REACTOR,
    "LOG_LEVEL": "ERROR",
    "LOGSTATS_INTERVAL": 0,
    "CONCURRENT_REQUESTS": 100,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "ROBOTSTXT_OBEY": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "AJAXCRAWL_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "EXTENSIONS_BASE": {},
    "SPIDER_MIDDLEWARES_BASE": {},
    "DOWNLOADER_MIDDLEWARES_BASE": {},  # its inflating also guesses charsets, a quarter of its time
    "REQUEST_FINGERPRINTER_CLASS": "benchmarks.crawl_parts.contestants.scrapy_spiders.UrlFingerprinter",
}
AIOHTTP = "benchmarks.crawl_parts.contestants.scrapy_spiders.AiohttpHandler"
ON_AIOHTTP = {**TUNED, "DOWNLOAD_HANDLERS": {"http": AIOHTTP, "https": AIOHTTP}}


GZIP = {"Accept-Encoding": "gzip"}


class AiohttpHandler(AiohttpDownloadHandler):
    lazy = True  # it wants a running event loop when it is made


class UrlFingerprinter:
    """URLs here are canonical already: no need to parse and sort them."""

    def fingerprint(self, request):
        return request.url.encode()


class Documented(CrawlSpider):
    """A CrawlSpider with a LinkExtractor, as the documentation shows; items through a feed export."""

    name = "documented"

    def __init__(self, starts, pattern, output, **kwargs):
        self.start_urls = starts
        self.rules = (Rule(LinkExtractor(allow=pattern), callback="parse_item", follow=True),)
        super().__init__(**kwargs)

    def parse_item(self, response):
        return {
            "url": response.url,
            "title": response.css("title::text").get(),
            "text": " ".join(response.css("body ::text").getall()),
        }

    def parse_start_url(self, response, **kwargs):
        return self.parse_item(response)


class _Tuned(scrapy.Spider):
    """Writes its items itself, and dedupes links before Scrapy sees them."""

    name = "tuned"

    def __init__(self, starts, pattern, output, **kwargs):
        super().__init__(**kwargs)
        self._starts = starts
        self._wanted = re.compile(pattern)
        self._known = set(starts)
        self._output = Path(output).open("w", encoding="utf-8")  # noqa: SIM115  # until closed()

    async def start(self):
        for url in self._starts:
            yield scrapy.Request(url, headers=GZIP)

    def closed(self, reason):
        self._output.close()

    def parse(self, response):
        if response.status != 200:
            return
        body = response.body
        if body.startswith(b"\x1f\x8b"):
            body = isal_zlib.decompress(body, wbits=31)
        item, links = self.taken(response, body)
        self._output.write(json.dumps(item) + "\n")
        for link in links:
            if link not in self._known and self._wanted.search(link):
                self._known.add(link)
                yield scrapy.Request(link, headers=GZIP)

    def taken(self, response, body):
        raise NotImplementedError


class WithLxml(_Tuned):
    def taken(self, response, body):
        page = lxml.html.fromstring(body)
        hrefs = {href.partition("#")[0] for href in page.xpath("//a/@href")}
        links = [urljoin(response.url, href) for href in hrefs]
        item = {"url": response.url, "title": page.findtext(".//title"), "text": page.text_content()}
        return item, links


class WithOurParser(_Tuned):
    def taken(self, response, body):
        kind = response.headers.get("content-type", b"").decode("latin-1")
        page = extract(body, kind, response.url)
        links = [link.url.partition("#")[0] for link in page.links]
        item = {"url": page.url, "title": page.title, "text": page.text, "links": links}
        return item, links


WAYS = {
    "documented": (Documented, DOCUMENTED),
    "lxml": (WithLxml, TUNED),
    "our-parser": (WithOurParser, TUNED),
    "our-parser-aiohttp": (WithOurParser, ON_AIOHTTP),
}


def main() -> None:
    way, starts, pattern, output = sys.argv[1:]
    spider, settings = WAYS[way]
    if way == "documented":
        settings = {**settings, "FEEDS": {output: {"format": "jsonlines"}}}
    else:
        logging.disable(logging.CRITICAL)  # below its level Scrapy still formats what it throws away
        tune_process()
    process = CrawlerProcess(settings)
    process.crawl(spider, starts=Path(starts).read_text().split(), pattern=pattern, output=output)
    process.start()


if __name__ == "__main__":
    main()

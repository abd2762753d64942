"""A Scrapy downloader middleware: each request goes through the proxy that is nearest to its site.

You run proxies in several places, under the names of the crawlers that stand there. The middleware asks the
coordinator which crawler is nearest to a site, once per site, and sets `request.meta["proxy"]`.

    # settings.py
    DOWNLOADER_MIDDLEWARES = {"scrapy_nearest.NearestProxyMiddleware": 350}
    IPMICRA_COORDINATOR = "http://127.0.0.1:8790"
    IPMICRA_PROXIES = {"lima": "http://lima.example:3128", "oslo": "http://oslo.example:3128"}

Scrapy need not be there to import this. When the coordinator is away, or does not know, the request goes
out as it would have without the middleware.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.errors import Fault

SITES_REMEMBERED_MAX = 100_000

_log = logging.getLogger(__name__)


class ScrapyRequest(Protocol):
    """What of scrapy.Request is used."""

    url: str
    meta: dict[str, Any]


class ScrapyCrawler(Protocol):
    """What of scrapy.crawler.Crawler is used."""

    @property
    def settings(self) -> Mapping[str, Any]: ...


class NearestProxyMiddleware:
    """Site -> nearest crawler -> its proxy; every site is asked about once."""

    def __init__(
        self, client: CoordinatorClient, proxies: Mapping[str, str], wait_s: float = 5.0
    ) -> None:
        self._client = client
        self._proxies = proxies
        self._wait_s = wait_s
        self._proxy_of_site: dict[str, str | None] = {}

    @classmethod
    def from_crawler(cls, crawler: ScrapyCrawler) -> Self:
        settings = crawler.settings
        return cls(CoordinatorClient(settings["IPMICRA_COORDINATOR"]), settings["IPMICRA_PROXIES"])

    def process_request(self, request: ScrapyRequest, spider: object = None) -> None:
        """Scrapy calls this before each download."""
        if "proxy" in request.meta:
            return
        address = urlsplit(request.url)
        site = f"{address.scheme}://{address.netloc}"
        if site not in self._proxy_of_site:
            if len(self._proxy_of_site) >= SITES_REMEMBERED_MAX:
                self._proxy_of_site.clear()
            self._proxy_of_site[site] = self._asked(site)
        proxy = self._proxy_of_site[site]
        if proxy is not None:
            request.meta["proxy"] = proxy

    def _asked(self, site: str) -> str | None:
        try:
            nearest = self._client.nearest(site, self._wait_s)
        except Fault as fault:
            _log.warning("no nearest proxy for %s: %s", site, fault)
            return None
        return None if nearest.crawler is None else self._proxies.get(nearest.crawler)

"""The example in examples/: requests go through the proxy nearest to their site."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from examples.scrapy_nearest import NearestProxyMiddleware
from ipmicra.protocol.coordinator_api import Nearest

PROXIES = {"lima": "http://lima.example:3128"}


class Request:
    """As much of a Scrapy request as the middleware may rely on."""

    def __init__(self, url: str, **meta: Any) -> None:
        self.url = url
        self.meta: dict[str, Any] = dict(meta)


class Crawler:
    def __init__(self, coordinator: str) -> None:
        self.settings = {"IPMICRA_COORDINATOR": coordinator, "IPMICRA_PROXIES": PROXIES}


@pytest.fixture
def coordinator() -> Iterator[tuple[str, list[str]]]:
    """Says that lima is nearest to everything but to https://far.example; and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            crawler = None if "far.example" in self.path else "lima"
            body = msgspec.json.encode(Nearest(site="", state="located", crawler=crawler))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_requests_go_through_the_nearest_proxy_and_a_site_is_asked_about_once(
    coordinator: tuple[str, list[str]],
) -> None:
    address, asked = coordinator
    middleware = NearestProxyMiddleware.from_crawler(Crawler(address))
    requests = [Request(f"https://near.example/{page}") for page in range(3)]
    requests += [Request("https://far.example/"), Request("https://own.example/", proxy="mine")]
    for request in requests:
        middleware.process_request(request)
    lima = PROXIES["lima"]
    assert [request.meta.get("proxy") for request in requests] == [lima, lima, lima, None, "mine"]
    assert len(asked) == 2


def test_without_a_coordinator_requests_go_out_as_ever() -> None:
    request = Request("https://near.example/")
    NearestProxyMiddleware.from_crawler(Crawler("http://127.0.0.1:1")).process_request(request)
    assert request.meta == {}

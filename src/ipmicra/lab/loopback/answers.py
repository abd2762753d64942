"""A made site and the head of a request -> the bytes of the answer: pages, robots.txt, 304 and 404."""

from __future__ import annotations

import hashlib
from email.utils import formatdate
from typing import NamedTuple

from ipmicra.lab.loopback.pages import MadeSite

ROBOTS = "User-agent: *\nDisallow: /private/\n"


class LoopbackResponse(NamedTuple):
    """The bytes of a response, and its line in the access log."""

    data: bytes
    method: str
    path: str
    status: int


def answer_to(site: MadeSite, head: bytes) -> LoopbackResponse:
    """The answer to one request; `head` is everything up to the empty line."""
    request, *fields = head.decode("latin-1").split("\r\n")
    method, _, rest = request.partition(" ")
    path = rest.partition(" ")[0]
    status, kind, body = _content(site, path)
    etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    if any(line.lower() == f"if-none-match: {etag}" for line in fields):
        status, body = 304, b""
    lines = [
        f"HTTP/1.1 {status} {'OK' if status == 200 else 'Other'}",
        f"Date: {formatdate(usegmt=True)}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        f"ETag: {etag}",
        "Connection: keep-alive",
    ]
    sent = b"" if method == "HEAD" else body
    return LoopbackResponse(
        "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + sent, method, path, status
    )


def _content(site: MadeSite, path: str) -> tuple[int, str, bytes]:
    page = site.pages.get(path)
    if page is not None:
        return 200, "text/html; charset=utf-8", page.html.encode()
    if path == "/robots.txt":
        return 200, "text/plain", ROBOTS.encode()
    return 404, "text/plain", b"no such page\n"

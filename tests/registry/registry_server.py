"""A registry's file server on loopback that misbehaves as it is told.

A script says, for each path, what the server does on the first, second, ... request; the last one
repeats. It keeps what was asked, so that a test can see ranges and conditions.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

CONTENTS = bytes(range(256)) * 2000
ETAG = '"v1"'


class Asked(NamedTuple):
    path: str
    headers: Message


Behaviour = Callable[["Handler"], None]


class RegistryServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: dict[str, list[Behaviour]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.asked: list[Asked] = []
        self.released = threading.Event()  # lets hanging answers go

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def behaviour(self, path: str) -> Behaviour:
        behaviours = self.script.get(path, [missing])
        return behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the play."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RegistryServer

    def do_GET(self) -> None:
        self.server.asked.append(Asked(self.path, self.headers))
        self.server.behaviour(self.path)(self)

    def log_message(self, *arguments: object) -> None:
        pass

    def begin(self, status: int, length: int | None, **headers: str) -> None:
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True


@contextmanager
def serving(script: dict[str, list[Behaviour]]) -> Iterator[RegistryServer]:
    server = RegistryServer(script)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


# --- behaviours ---


def good(handler: Handler) -> None:
    """A proper server: conditions and ranges are understood."""
    if handler.headers["If-None-Match"] == ETAG:
        handler.begin(304, None, ETag=ETAG)
        return
    asked, valid = handler.headers["Range"], handler.headers["If-Range"] in (None, ETAG)
    if asked and valid:
        first = int(asked.removeprefix("bytes=").removesuffix("-"))
        if first >= len(CONTENTS):
            handler.begin(416, 0)
            return
        part = f"bytes {first}-{len(CONTENTS) - 1}/{len(CONTENTS)}"
        handler.begin(206, len(CONTENTS) - first, ETag=ETAG, Content_Range=part)
        handler.wfile.write(CONTENTS[first:])
        return
    whole(handler)


def whole(handler: Handler) -> None:
    """Ignores Range."""
    handler.begin(200, len(CONTENTS), ETag=ETAG)
    handler.wfile.write(CONTENTS)


def without_length(handler: Handler) -> None:
    handler.begin(200, None, ETag=ETAG, Connection="close")
    handler.wfile.write(CONTENTS)
    handler.hang_up()


def drops_midway(handler: Handler) -> None:
    """Announces all, sends a part, hangs up: also what a wrong Content-Length looks like."""
    handler.begin(200, len(CONTENTS), ETag=ETAG)
    handler.wfile.write(CONTENTS[:100_000])
    handler.hang_up()


def drops_a_chunk(handler: Handler) -> None:
    handler.begin(200, None, ETag=ETAG, Transfer_Encoding="chunked")
    handler.wfile.write(b"10000\r\n" + CONTENTS[:1000])
    handler.hang_up()


def newer_version(handler: Handler) -> None:
    """Another version meanwhile: If-Range does not hold, the whole new file comes."""
    handler.begin(200, len(CONTENTS), ETag='"v2"')
    handler.wfile.write(CONTENTS[::-1])


def wrong_part(handler: Handler) -> None:
    handler.begin(206, 5, ETag=ETAG, Content_Range=f"bytes 7-11/{len(CONTENTS)}")
    handler.wfile.write(b"wrong")


def unnamed_part(handler: Handler) -> None:
    handler.begin(206, 5, ETag=ETAG)
    handler.wfile.write(b"wrong")


def broken(handler: Handler) -> None:
    handler.begin(500, 0)


def missing(handler: Handler) -> None:
    handler.begin(404, 0)


def hangs(handler: Handler) -> None:
    handler.server.released.wait(10)
    handler.close_connection = True


def stalls(handler: Handler) -> None:
    handler.begin(200, len(CONTENTS), ETag=ETAG)
    handler.wfile.write(CONTENTS[:1000])
    handler.wfile.flush()
    hangs(handler)


def trickles(handler: Handler) -> None:
    handler.begin(200, len(CONTENTS), ETag=ETAG)
    while not handler.server.released.wait(0.02):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def garbage(handler: Handler) -> None:
    handler.wfile.write(b"\x00\x01 this is no HTTP\r\n\r\n")
    handler.hang_up()


def to(path: str) -> Behaviour:
    def redirects(handler: Handler) -> None:
        handler.begin(302, 0, Location=path)

    return redirects


def checksum(contents: bytes, wording: str = "MD5 (file) = {}\n") -> Behaviour:
    def says(handler: Handler) -> None:
        text = wording.format(hashlib.md5(contents).hexdigest()).encode()
        handler.begin(200, len(text))
        handler.wfile.write(text)

    return says

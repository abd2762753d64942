"""A repository of bundles served over real HTTP, which a test may have lie in every way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ipmicra.coordinator.bundles.repository import Repository
from ipmicra.protocol.bundle_format import pack
from ipmicra.protocol.bundle_trust import Bundles

NOW = datetime.now(UTC)


def bundle(version: str, size: int = 100) -> bytes:
    text = f"VERSION = {version!r}  # {'x' * size}\n"
    return pack(version, "crawler", {"crawler.py": text.encode()})


class Publisher:
    """An operator with keys, and the server of their repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = folder / "keys"
        self.published = folder / "published"
        self.repository = Repository(self.published)
        self.root = self.repository.init(self.keys, root_keys=3, threshold=2, now=NOW)
        self.address = ""
        self.drips_s: float | None = None  # a byte each, for ever
        self.endless = False

    def release(self, version: str, days_ago: float = 0.0) -> bytes:
        data = bundle(version)
        self.repository.sign(data, self.keys, NOW - timedelta(days=days_ago))
        return data

    def host(self, name: str = "host", **options: object) -> Bundles:
        return Bundles(self.address, self.folder / name, self.root, **options)  # type: ignore[arg-type] # any

    def file(self, pattern: str) -> Path:
        (found,) = self.published.glob(pattern)
        return found

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = self.published / handler.path.removeprefix("/v1/bundles/")
        if not path.is_file():
            handler.send_error(404)
            return
        handler.send_response(200)
        handler.end_headers()
        data = path.read_bytes()
        if self.endless:
            for _ in range(10_000):
                handler.wfile.write(data + b" " * 65_536)
        elif self.drips_s is not None:
            for byte in data:
                handler.wfile.write(bytes([byte]))
                time.sleep(self.drips_s)
        else:
            handler.wfile.write(data)


@contextmanager
def publishing(folder: Path) -> Iterator[Publisher]:
    publisher = Publisher(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(ConnectionError):
                publisher.answer(self)

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    publisher.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield publisher
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

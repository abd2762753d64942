"""An S3 server for tests, in a separate process, with an empty bucket."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.coordinator.coordinator_process import free_port
from tests.system_parts import needed

BUCKET = "crates"
SECONDS_TO_START = 60.0


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """The environment in which S3 programs find it."""
    port = free_port()
    line = [str(needed("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        endpoint = f"http://127.0.0.1:{port}"
        _make_bucket(endpoint)
        yield {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
    finally:
        server.kill()
        server.wait()


def _make_bucket(endpoint: str) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            request = urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")
            with urllib.request.urlopen(request, timeout=10):
                return
        except OSError:
            assert time.monotonic() < end, "the S3 server did not start"
            time.sleep(0.1)

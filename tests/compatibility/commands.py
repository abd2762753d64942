"""The program as a subprocess: words -> what it prints. Nothing of its insides is imported here.

Invariant: ports and settings are those that the data in `data-0.1/` was written with, since URLs and the
coordinator's address are part of that data.
"""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WEB_PORT, NAMES_PORT, COORDINATOR_PORT = 21080, 21053, 21790
COORDINATOR = f"http://127.0.0.1:{COORDINATOR_PORT}"
WEB = (
    "lab",
    "web",
    "--sites",
    "3",
    "--pages",
    "6",
    "--port",
    str(WEB_PORT),
    "--names-port",
    str(NAMES_PORT),
)
SETTINGS = {
    "crawler.delay_seconds_min": "0.01",
    "crawler.response_time_factor": "0.5",
    "crawler.retry_seconds": "0.5",
    "crawler.package_seconds_max": "0.3",
    "crawler.commit_seconds": "0.1",
    "crawler.contact": '"tester@example.org"',
    "fetching.open_ranges": '["127.0.0.0/8"]',
    "fetching.dns_servers": f'["127.0.0.1:{NAMES_PORT}"]',
    "coordinator.compared_share": "0",
    "host.cpu_share_max": "8.0",
    "host.sandbox": '"never"',
}


DATA = Path(__file__).parent / "data-0.1"


def copied(part: str, folder: Path) -> Path:
    """A copy of a data folder as version 0.1.0 wrote it."""
    with tarfile.open(DATA / f"{part}.tar.gz") as archive:
        archive.extractall(folder, filter="tar")
    return folder / part


def command(folder: Path, *words: str) -> list[str]:
    """A command line of the program with `folder` as its data folder."""
    settings = {"general.data_folder": str(folder), **SETTINGS}
    options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return [sys.executable, "-m", "ipmicra", *options, *words]


def run(folder: Path, *words: str) -> str:
    result = subprocess.run(command(folder, *words), capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, f"{' '.join(words)} ended with {result.returncode}:\n{result.stderr}"
    return result.stdout


def run_json(folder: Path, *words: str) -> Any:
    return json.loads(run(folder, *words, "--json"))


@contextmanager
def running(folder: Path, log: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is told to stop at the end, and killed if it does not."""
    with log.open("ab") as output:
        process = subprocess.Popen(command(folder, *words), stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def get(path: str, coordinator: str = COORDINATOR) -> str:
    """What the running coordinator answers."""
    with urllib.request.urlopen(coordinator + path, timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def is_ready(coordinator: str = COORDINATOR) -> bool:
    try:
        return bool(get("/ready", coordinator))
    except OSError:
        return False


@contextmanager
def running_web(folder: Path) -> Iterator[list[str]]:
    """The made-up web that the data was crawled from; its roots. One at a time on a machine."""
    log = folder / "web.log"
    with (Path(tempfile.gettempdir()) / f"ipmicra-web-{WEB_PORT}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with running(folder / "web", log, *WEB, "--json"):
            wait_until(lambda: str(NAMES_PORT) in log.read_text().partition("]\n")[2], log)
            yield [row["site"] for row in json.loads(log.read_text().partition("]\n")[0] + "]")]


def wait_until(happened: Callable[[], object], log: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"not within {seconds} s:\n{log.read_text()[-3000:]}"
        time.sleep(0.1)

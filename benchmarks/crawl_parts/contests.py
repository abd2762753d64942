"""A contestant's name and a task -> the command that crawls it; and a command -> what it cost.

Costs are the kernel's: CPU time and the largest resident size of the process and what it waited for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
CONNECTIONS = 10  # to a site


class Task(NamedTuple):
    """The sites to crawl, and the folder for results."""

    start_urls: list[str]
    pattern: str
    folder: Path
    authority: Path


class Cost(NamedTuple):
    cpu_seconds: float
    wall_seconds: float
    resident_mb: float
    exit_code: int


Command = Callable[[Task], list[str]]


def ipmicra(task: Task, processes: int = 1) -> list[str]:
    """The whole pipeline: durable frontier, politeness clocks, extraction, packages."""
    sites = sorted({url.split("/")[2] for url in task.start_urls})
    grants = "\n".join(
        f'[[crawler.grants]]\nsite = "{site}"\nrequests_per_second = 1e6\nconnections = {CONNECTIONS}'
        for site in sites
    )
    settings = task.folder / "ipmicra.toml"
    settings.write_text(
        f'[general]\ndata_folder = "{task.folder}/data"\n'
        f'[fetching]\nopen_ranges = ["127.0.1.0/24"]\nauthorities_file = "{task.authority}"\n'
        f'[crawler]\ncontact = "benchmark@example.org"\n{grants}\n'
    )
    program = [sys.executable, "-m", "ipmicra", "--settings", str(settings), "crawl", "--json"]
    scope = [
        "--processes",
        str(processes),
        "--name",
        "benchmark",
        "--scope",
        "pattern",
        "--pattern",
        task.pattern,
    ]
    return [*program, *scope, *task.start_urls]


TWO_PROCESSES = "ipmicra crawl, two processes"


def _program(module: str, way: str) -> Command:
    def command(task: Task) -> list[str]:
        starts = task.folder / "starts.txt"
        starts.write_text("\n".join(task.start_urls))
        program = [sys.executable, "-m", f"benchmarks.crawl_parts.contestants.{module}", way]
        return [*program, str(starts), task.pattern, str(task.folder / "items.jsonl")]

    return command


def wget(task: Task) -> list[str]:
    """Fetches, finds links in HTML, writes files: no text, no records, one connection."""
    quiet = ["wget", "--quiet", "--recursive", "--level=inf", "--compression=auto", "--no-verbose"]
    scope = ["--span-hosts", "--accept-regex", task.pattern, f"--directory-prefix={task.folder}"]
    return [*quiet, *scope, f"--ca-certificate={task.authority}", *task.start_urls]


CONTESTANTS: dict[str, Command] = {
    "ipmicra crawl": ipmicra,
    TWO_PROCESSES: partial(ipmicra, processes=2),
    "Scrapy, our parser, aiohttp handler": _program("scrapy_spiders", "our-parser-aiohttp"),
    "Scrapy, our parser": _program("scrapy_spiders", "our-parser"),
    "Scrapy, tuned, lxml": _program("scrapy_spiders", "lxml"),
    "Scrapy, as documented": _program("scrapy_spiders", "documented"),
    "Crawlee, our parser": _program("crawlee_crawlers", "our-parser"),
    "Crawlee, as documented": _program("crawlee_crawlers", "documented"),
    "wget -r": wget,
}


def run(command: list[str], task: Task, cores: str, log: Path) -> Cost:
    """Run on the cores, as taskset names them, until it ends."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "SSL_CERT_FILE": str(task.authority),
        "CRAWLEE_STORAGE_DIR": str(task.folder),
    }
    started_at = time.monotonic()
    with log.open("wb") as output:
        pinned = ["taskset", "-c", cores, *command]
        process = subprocess.Popen(
            pinned, cwd=task.folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_seconds = usage.ru_utime + usage.ru_stime
    wall_seconds = time.monotonic() - started_at
    return Cost(cpu_seconds, wall_seconds, usage.ru_maxrss / 1024, process.returncode)


def folder_of(parent: Path, name: str) -> Path:
    return parent / "".join(letter if letter.isalnum() else "-" for letter in name)


def fresh_folder(parent: Path, name: str) -> Path:
    folder = folder_of(parent, name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder

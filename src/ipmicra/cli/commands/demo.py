"""`ipmicra demo`: the main job at work, by the commands that a person would type."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import click

from ipmicra.cli import terminal
from ipmicra.errors import Fault, OurFault

WEB_SECONDS_TO_START = 20.0
PORTS_FROM = 8080


class Scene(NamedTuple):
    """One command of the demo, and what it shows."""

    shows: str
    arguments: tuple[str, ...]


@click.command()
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed makes another world.")
def command(seed: int) -> None:
    """Show the main job at work in a made-up Internet on this machine. Takes about a minute.

    Everything happens on loopback addresses and in a temporary folder that is removed afterwards.

    \b
    Examples:
      ipmicra demo
      ipmicra demo --seed 7
    """
    with tempfile.TemporaryDirectory(prefix="ipmicra-demo-") as folder:
        for scene in tree_scenes(seed):
            _play(scene, folder)
        port, names_port = _free_port(PORTS_FROM), _free_port(PORTS_FROM + 1000)
        with _made_up_web(seed, port, names_port):
            for scene in crawl_scenes(port, names_port):
                _play(scene, folder)
    terminal.output().print("\nThat was ipmicra. What next: [bold].venv/bin/ipmicra --help[/]")


def tree_scenes(seed: int) -> list[Scene]:
    return [
        Scene("Registry files become a tree of subnets", ("registry", "build", "--sample")),
        Scene("From the whole Internet down to one address", ("registry", "show", "198.51.100.20")),
        Scene(
            "Who is nearest? Strategies in a generated world of 400 hosts, 12 of them crawlers",
            ("lab", "compare", "--draws", "3", "--seed", str(seed), "--jobs", "1",
             "--strategy", "random,hash,first-fit@50,ipmicra@50,adaptive,brute-force"),
        ),
    ]  # fmt: skip


def crawl_scenes(port: int, names_port: int) -> list[Scene]:
    manners = (
        "--set", f'fetching.dns_servers=["127.0.0.1:{names_port}"]',
        "--set", "crawler.delay_seconds_min=0.02",
        "--set", "crawler.response_time_factor=1.0",
    )  # fmt: skip
    front_page = f"http://bakery0.lima.example:{port}/"
    reach = ("--allow-range", "127.0.0.0/8", "--scope", "any", "--pages", "200")
    return [
        Scene(
            "A crawl of a made-up web: twelve sites in twelve cities",
            (*manners, "crawl", front_page, *reach),
        ),
        Scene("And its search engine", ("search", "lighthouse tide", "--limit", "3")),
    ]


def _play(scene: Scene, folder: str) -> None:
    shown = " ".join(f"'{word}'" if set(word) & set(' "[') else word for word in scene.arguments)
    terminal.output().print(
        f"\n[bold]{scene.shows}[/]\n[dim]$ ipmicra {shown.replace('[', chr(92) + '[')}[/]"
    )
    began = time.monotonic()
    place = ("--set", f"general.data_folder={folder}")
    finished = subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, "-m", "ipmicra", *place, *scene.arguments], check=False
    )
    if finished.returncode:
        raise OurFault(f"the demo's command ended with {finished.returncode}: ipmicra {shown}")
    terminal.remark(f"{time.monotonic() - began:.1f} s")


@contextmanager
def _made_up_web(seed: int, port: int, names_port: int) -> Iterator[None]:
    """`ipmicra lab web` in the background, until the scenes are played."""
    arguments = ["lab", "web", "--seed", str(seed), "--port", str(port), "--names-port", str(names_port)]
    web = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "ipmicra", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(web, port)
        yield
    finally:
        web.terminate()
        web.wait()


def _wait_for(web: subprocess.Popen[bytes], port: int) -> None:
    """Until the first site answers, or the web has died."""
    until = time.monotonic() + WEB_SECONDS_TO_START
    while time.monotonic() < until and web.poll() is None:
        with socket.socket() as plug:
            if plug.connect_ex(("127.16.0.2", port)) == 0:
                return
        time.sleep(0.1)
    raise Fault("the made-up web did not start; is something else on its ports?")


def _free_port(first: int) -> int:
    for port in range(first, first + 500):
        with socket.socket() as plug, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            try:
                plug.bind(("127.0.0.1", port))
                datagrams.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Fault(f"no free port from {first} on")

"""A host as a real process: it calls out, and nobody can call in."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from tests.crawler.local_site import LocalSite
from tests.host.host_harness import WEB, join, started, take
from tests.host.scripted_coordinator import ScriptedCoordinator

LISTENING = "0A"  # TCP_LISTEN in /proc/net/tcp
UNCONNECTED = "07"  # a bound datagram socket


def family_of(process: int) -> set[int]:
    """The process and all that it started."""
    found = {process}
    for folder in Path(f"/proc/{process}/task").iterdir():
        for child in (folder / "children").read_text().split():
            found |= family_of(int(child))
    return found


def sockets_of(processes: set[int]) -> set[str]:
    found = set()
    for process in processes:
        for handle in Path(f"/proc/{process}/fd").iterdir():
            try:
                link = str(handle.readlink())
            except FileNotFoundError:
                continue
            if link.startswith("socket:["):
                found.add(link.removeprefix("socket:[").removesuffix("]"))
    return found


def open_ports(process: int) -> list[str]:
    """Local addresses and ports at which the process or one that it started can be reached."""
    own, found = sockets_of(family_of(process)), []
    for table, state in (
        ("tcp", LISTENING),
        ("tcp6", LISTENING),
        ("udp", UNCONNECTED),
        ("udp6", UNCONNECTED),
    ):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == state and fields[9] in own:
                found.append(f"{table} {fields[1]}")
    return found


def test_a_working_host_listens_on_no_port(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            process = started(tmp_path)
            try:
                await home.until(lambda: len(home.pages()) >= 4, seconds=90)
                assert len(sockets_of({process.pid})) > 0  # it talks, so the look would see a port
                assert open_ports(process.pid) == []
            finally:
                process.send_signal(signal.SIGTERM)
                await asyncio.to_thread(process.wait, 30)

    asyncio.run(story())


def test_a_process_that_listens_is_seen() -> None:
    async def story() -> None:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            assert f"tcp 0100007F:{port:04X}" in open_ports(os.getpid())

    asyncio.run(story())

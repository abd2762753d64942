"""Limits that hold on the host itself: rates, memory, a full disk; and joins that come to nothing."""

from __future__ import annotations

import asyncio
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from ipmicra.cli.main import program
from ipmicra.errors import SiteFault
from ipmicra.host.coordinator_client import ANSWER_BYTES_MAX, enrol
from ipmicra.model.ids import SiteEpoch
from ipmicra.protocol.host_messages import AssignedSite, AssignSites, ProbeTarget, ProbeTargets
from tests.crawler.local_site import Answer, Asked, LocalSite, html
from tests.host.host_harness import command, host_settings, join, living, started
from tests.host.scripted_coordinator import ScriptedCoordinator


def endless(asked: Asked) -> Answer:
    """One page after the other, 8 KB each."""
    number = int("0" + "".join(filter(str.isdigit, asked.path)))
    return Answer(status=404) if "robots" in asked.path else html(f"/{number + 1}", text="word " * 1600)


def take(site: LocalSite) -> AssignSites:
    return AssignSites(
        grants=(AssignedSite(site=site.address, epoch=SiteEpoch(1), links=(f"{site.address}/",)),)
    )


def test_pages_come_no_faster_than_the_owner_allows(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(endless).serving() as site:
            await join(home, tmp_path)
            home.give(take(site))
            rules = host_settings(tmp_path, download_bytes_per_second_max=20_000)
            async with living(tmp_path, rules):
                await home.until(lambda: site.asked)
                began = time.monotonic()
                await asyncio.sleep(3)
                fetched = 8_000 * len(site.asked)
                assert fetched < 20_000 * (time.monotonic() - began + 2)  # a burst, and a page under way
                assert len(site.asked) >= 3

    asyncio.run(story())


def test_probes_go_out_at_the_hosts_own_pace_whatever_is_ordered(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(endless).serving() as site:
            await join(home, tmp_path)
            target = ProbeTarget(site=site.address, address="127.0.0.1", port=site.port)
            order = home.give(ProbeTargets(targets=(target,) * 60))
            began = time.monotonic()
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: order in home.done)
            assert time.monotonic() - began > 1.5  # 60 at 20 a second, less a burst
            assert all(probe.round_trip_ms for probe in home.done[order].probes)

    asyncio.run(story())


def test_the_kernel_holds_the_program_to_its_memory(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            process = started(tmp_path, **{"host.memory_bytes_max": str(300 << 20)})
            try:
                await home.until(lambda: home.heartbeats)
                limits = Path(f"/proc/{process.pid}/limits").read_text(encoding="ascii")
                (line,) = [line for line in limits.splitlines() if line.startswith("Max data size")]
                assert line.split()[3:5] == [str(300 << 20)] * 2
            finally:
                process.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(process.wait, 20) == 0

    asyncio.run(story())


@pytest.mark.slow
def test_a_disk_that_takes_no_more_ends_the_host_with_a_reason_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    pages = {"/": html(*(f"/{number}" for number in range(40)), text="words " * 3000)}
    pages |= {f"/{number}": html(text=f"{number} words " * 3000) for number in range(40)}

    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(pages).serving() as site:
            await join(home, tmp_path)
            home.give(take(site))
            cramped = await asyncio.to_thread(run_cramped, tmp_path)
            assert cramped.returncode == 5, cramped.stderr
            assert "nothing is lost" in cramped.stderr
            process = started(tmp_path)
            await home.until(lambda: len(home.pages()) >= 41)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, 20) == 0
            assert sorted(home.pages()) == sorted(f"{site.address}{path}" for path in pages)

    asyncio.run(story())


def run_cramped(folder: Path) -> subprocess.CompletedProcess[str]:
    """`ipmicra host run` where no file may grow beyond 150 KB."""
    settings = {
        "general.data_folder": f'"{folder}"',
        "crawler.grants": '[{site="127.0.0.1", requests_per_second=500, connections=4}]',
        "fetching.open_ranges": '["127.0.0.0/8"]',
        "crawler.commit_seconds": "0.05",
        "host.cpu_share_max": "8.0",
    }
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return subprocess.run(
        [sys.executable, "-m", "ipmicra", *words, "host", "run"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_join_that_is_declined_or_refused_leaves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            words = ["--set", f"general.data_folder={tmp_path}", "host", "join", home.address, "wrong"]
            declined = CliRunner().invoke(program, words, input="n\n")
            assert declined.exit_code == 1
            assert "hours" in declined.stderr  # it was said before what it would cost
            refused = await asyncio.to_thread(CliRunner().invoke, program, [*words, "--yes"])
            assert "used up" in str(refused.exception)
            assert not (tmp_path / "host").exists()

    asyncio.run(story())


@pytest.mark.slow
def test_one_process_runs_a_host_and_commands_without_one_say_what_to_do(tmp_path: Path) -> None:
    nothing = command(tmp_path, "host", "status")
    assert "ipmicra host join" in str(nothing.exception)

    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            first = started(tmp_path)
            await home.until(lambda: home.heartbeats)
            second = started(tmp_path)
            assert await asyncio.to_thread(second.wait, 20) == 5
            left = await asyncio.to_thread(command, tmp_path, "host", "leave", "--yes")
            assert left.exit_code == 0, left.output
            assert await asyncio.to_thread(first.wait, 20) == 0
            assert home.left

    asyncio.run(story())


def test_an_answer_without_end_fills_no_memory(tmp_path: Path) -> None:
    """A coordinator that was taken over, or is none."""
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                writer.write(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
                await writer.drain()
                sent += 1 << 20
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def story() -> None:
        server = await asyncio.start_server(pour, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(SiteFault, match="more than"):
            await enrol(address, "token", bytes(32))
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.1)

    asyncio.run(story())
    assert ANSWER_BYTES_MAX <= sent < ANSWER_BYTES_MAX + (64 << 20)

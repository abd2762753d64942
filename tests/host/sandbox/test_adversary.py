"""Dispatched code that means harm, attack by attack: each fails, and the host's log has a line of it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from ipmicra.host.sandbox.monitor import usage
from ipmicra.host.sandbox.spec import EnabledGuards
from tests.host.sandbox.adversary_harness import attack

# attack, what stops it, what the log says beside
REFUSED_BY_THE_FILTER = [
    ("connect", "PermissionError", "tried socket"),
    ("raw_inet", "PermissionError", "tried socket"),
    ("raw_packet", "PermissionError", "tried socket"),
    ("netlink", "PermissionError", "tried socket"),
    ("vsock", "PermissionError", "tried socket"),
    ("local_socket", "PermissionError", "tried socket"),
    ("bind", "PermissionError", "tried bind"),
    ("listen", "PermissionError", "tried listen"),
    ("unspec", "PermissionError", "tried connect"),
    ("reconnect", "PermissionError", "tried connect"),
    ("fast_open", "PermissionError", "connect a socket while sending"),
    ("source_route", "PermissionError", "where a connection's packets go"),
    ("list_interfaces", "PermissionError", "tried ioctl"),
    ("bind_to_an_interface", "PermissionError", "where a connection's packets go"),
    ("io_uring", "PermissionError", "tried io_uring_setup"),
    ("ptrace", "PermissionError", "tried ptrace"),
    ("read_others", "PermissionError", "tried process_vm_readv"),
    ("mount", "PermissionError", "tried mount"),
    ("namespace", "PermissionError", "tried unshare"),
    ("keys", "PermissionError", "tried keyctl"),
    ("bpf", "PermissionError", "tried bpf"),
    ("become_root", "PermissionError", "tried setuid"),
    ("run_a_program", "PermissionError", "to run a program"),
    ("fork_bomb", "PermissionError", "to start a process"),
    ("shared_memory", "PermissionError", "memory that is not counted"),
    ("unnamed_memory", "PermissionError", "tried memfd_create"),
]
REFUSED_BY_THE_BROKER = [
    ("ask_for_the_lan", "127.0.0.2 is not public (loopback)"),
    ("ask_for_the_cloud", "169.254.169.254 is not public (link-local)"),
    ("ask_for_the_wrapped_cloud", "wraps an address: 169.254.169.254 is not public"),
    ("ask_for_mail", "port 25 is not a web server's"),
    ("ask_under_a_false_name", "no name server says that site.example is at 127.0.0.1"),
]
NOT_THERE = [
    ("read_the_home_folder", "FileNotFoundError"),
    ("read_passwords", "FileNotFoundError"),
    ("read_the_hosts_key", "FileNotFoundError"),
    ("look_at_processes", "FileNotFoundError"),
    ("change_the_rules", "Error"),
    ("change_its_code", "Error"),
    ("raise_limits", "Error"),
    ("lay_a_link", "PermissionError"),
    ("memory", "MemoryError"),
    ("thread_bomb", "can't start new thread"),
    ("large_file", "File too large"),
]


@pytest.mark.parametrize(("name", "stopped_by", "line"), REFUSED_BY_THE_FILTER)
def test_the_kernel_is_not_asked(tmp_path: Path, name: str, stopped_by: str, line: str) -> None:
    async def story() -> None:
        async with attack(tmp_path, name) as tried:
            assert stopped_by in await tried.over()
            assert tried.says(line), tried.log
            assert tried.says("not permitted"), tried.log
            assert tried.printer.taken == 0

    asyncio.run(story())


@pytest.mark.parametrize(("name", "why"), REFUSED_BY_THE_BROKER)
def test_the_broker_does_not_connect(tmp_path: Path, name: str, why: str) -> None:
    async def story() -> None:
        async with attack(tmp_path, name) as tried:
            assert why in await tried.over()
            assert tried.says("the crawler's code asked for a connection to"), tried.log
            assert tried.says(why), tried.log
            assert (tried.site.taken, tried.printer.taken) == (0, 0)

    asyncio.run(story())


@pytest.mark.parametrize(("name", "stopped_by"), NOT_THERE)
def test_what_is_the_owners_is_not_there_to_be_taken(tmp_path: Path, name: str, stopped_by: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()

    async def story() -> None:
        more: dict[str, object] = {"secret_folder": str(secret)}
        async with attack(tmp_path, name, more=more, memory_bytes_max=256 << 20) as tried:
            assert stopped_by in await tried.over()
            assert tried.says(f"the crawler's code prints: {name}: "), tried.log

    asyncio.run(story())


def test_landlock_alone_keeps_a_passed_socket_where_it_is(tmp_path: Path) -> None:
    async def story() -> None:
        guards = EnabledGuards(filter=False, reporting=False)
        async with attack(tmp_path, "reconnect", guards) as tried:
            assert "PermissionError" in await tried.over()
            assert tried.printer.taken == 0

    asyncio.run(story())


def test_without_either_guard_a_passed_socket_could_be_taken_elsewhere(tmp_path: Path) -> None:
    """What the two are for: the attack is a real one, since a socket stays in the network it was made in."""

    async def story() -> None:
        guards = EnabledGuards(landlock=False, filter=False, reporting=False)
        async with attack(tmp_path, "reconnect", guards) as tried:
            while tried.outcome is None:
                await asyncio.sleep(0.02)
            assert tried.outcome == {"won": str(("127.0.0.2", tried.printer.port))}
            async with asyncio.timeout(10):  # the kernel connects before the printer is told of it
                while not tried.printer.taken:
                    await asyncio.sleep(0.02)
            assert tried.printer.taken == 1

    asyncio.run(story())


@pytest.mark.parametrize("name", ["many_files", "removed_files"])
def test_code_that_fills_the_disk_is_ended(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        async with attack(tmp_path, name) as tried:
            assert await tried.over() == "ended"
            assert tried.says("bytes of disk, of 67,108,864: ended"), tried.log

    asyncio.run(story())


def test_code_that_never_gives_up_is_ended(tmp_path: Path) -> None:
    async def story() -> None:
        async with attack(tmp_path, "never_give_up") as tried:
            assert await tried.over() == "ended"
            assert tried.says("tried forbidden calls 1,000 times: ended"), tried.log

    asyncio.run(story())


def test_the_broker_opens_no_more_connections_than_were_lent(tmp_path: Path) -> None:
    async def story() -> None:
        async with attack(tmp_path, "ask_for_too_many", connections_max=5) as tried:
            assert "all 5 connections are in use" in await tried.over()
            assert tried.site.taken == 5

    asyncio.run(story())


def test_nonsense_is_written_down_and_harms_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with attack(tmp_path, "speak_nonsense") as tried:
            async with asyncio.timeout(20):
                while tried.outcome is None:
                    await asyncio.sleep(0.02)
            assert tried.outcome == {"won": str(("127.0.0.1", tried.site.port))}
            assert tried.says("sent the broker a message that is not a request"), tried.log

    asyncio.run(story())


def test_bytes_are_counted_by_the_kernel_whatever_the_code_says(tmp_path: Path) -> None:
    async def story() -> None:
        async with attack(tmp_path, "upload") as tried:
            assert "sent, and counted" in await tried.over()
            today, _ = tried.meter.used_bytes()
            assert today >= 64 * 16_384
            assert today == pytest.approx(tried.site.received, rel=0.01)

    asyncio.run(story())


def test_a_resting_host_makes_no_connection(tmp_path: Path) -> None:
    async def story() -> None:
        async with attack(tmp_path, "upload", rest="is outside of its hours") as tried:
            assert "this host is outside of its hours" in await tried.over()
            assert tried.site.taken == 0

    asyncio.run(story())


def test_a_share_of_the_processor_holds_against_a_busy_loop(tmp_path: Path) -> None:
    async def story() -> None:
        more: dict[str, object] = {"seconds": 60}
        async with attack(tmp_path, "processor", more=more, cpu_share_max=0.25) as tried:
            pid = tried.berth.pid
            await asyncio.sleep(1.5)  # the first second is a burst
            used, begun = usage.cpu_seconds(pid), time.monotonic()
            await asyncio.sleep(4)
            share = (usage.cpu_seconds(pid) - used) / (time.monotonic() - begun)
            assert share < 0.25 * 1.3

    asyncio.run(story())


def test_code_does_not_run_while_the_host_rests(tmp_path: Path) -> None:
    async def story() -> None:
        async with attack(tmp_path, "deaf") as tried:
            alive = tried.state / "alive"
            while not alive.exists():
                await asyncio.sleep(0.02)
            tried.berth.pause()
            await asyncio.sleep(0.1)
            used = usage.cpu_seconds(tried.berth.pid)
            await asyncio.sleep(1)
            assert usage.cpu_seconds(tried.berth.pid) == used

    asyncio.run(story())

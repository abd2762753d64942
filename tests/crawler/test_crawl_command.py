"""`ipmicra crawl` as a person or a program meets it: a process, its output and its exit codes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import pty
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ipmicra.cli import main as command_line
from tests.crawler.crawl_harness import records_in
from tests.crawler.local_site import Answer, Asked, LocalSite, html

ROBOTS = Answer(b"User-agent: *\nDisallow: /private/\n")
SITE = {
    "/robots.txt": ROBOTS,
    "/": html("/a", "/private/x", "https://elsewhere.example/"),
    "/a": html("/"),
}
GRANT = '[{site="127.0.0.1", requests_per_second=%d, connections=2}]'
LOOPBACK = ("--allow-range", "127.0.0.0/8")
DEAD = "http://127.0.0.1:1025/"  # nobody listens there


async def start(
    folder: Path,
    *words: str,
    rate: int = 500,
    stderr: int = asyncio.subprocess.PIPE,
    preexec_fn: Callable[[], None] | None = None,
    settings: Mapping[str, str] = {},
) -> Any:
    overrides = {
        "general.data_folder": f'"{folder}"',
        "crawler.grants": GRANT % rate,
        "crawler.commit_seconds": "0.05",
        "crawler.patience_seconds": "0.2",
        "crawler.retry_seconds": "0.05",
        **settings,
    }
    options = [word for name, value in overrides.items() for word in ("--set", f"{name}={value}")]
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ipmicra", *options, "crawl", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "COLUMNS": "200", "TERM": "xterm"},
        preexec_fn=preexec_fn,
    )


async def run(folder: Path, *words: str, **options: Any) -> tuple[int, str, str]:
    process = await start(folder, *words, **options)
    output, errors = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, output.decode(), errors.decode()


def test_a_site_is_crawled_and_the_summary_is_json_for_programs(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite(SITE).serving() as site:
            code, output, errors = await run(tmp_path, site.address, *LOOPBACK, "--json")
        assert code == 0
        summary = json.loads(output)
        assert (summary["pages"], summary["progress"]["seen"], summary["pending"]) == (2, 2, 0)
        assert summary["progress"]["forbidden"] == 1
        assert 0 <= time.time() - summary["progress"]["started_at"] < 60  # seconds since 1970
        assert "granted: 127.0.0.1, 500 requests/s on 2 connections" in errors

    asyncio.run(story())


@pytest.mark.parametrize("seed", ["http://127.0.0.1:8088/", "http://192.0.2.1/"])
def test_without_a_contact_nothing_outside_of_opened_ranges_is_asked(
    seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--set", f'general.data_folder="{tmp_path}"', "crawl", seed, "--allow-range", "127.0.0.2"]
    assert command_line.run(words) == 3
    assert "crawler.contact" in capsys.readouterr().err


def test_a_dry_run_shows_what_would_be_done_and_keeps_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite(SITE).serving() as site:
            code, output, _ = await run(tmp_path, site.address, *LOOPBACK, "--dry-run", "--json")
            assert sorted(site.paths()) == ["/", "/robots.txt"]
        assert code == 0
        verdicts = {entry["url"]: entry["verdict"] for entry in json.loads(output)["entries"]}
        assert verdicts == {
            f"{site.address}/": "fetched",
            f"{site.address}/a": "followed",
            f"{site.address}/private/x": "forbidden by robots.txt",
            "https://elsewhere.example/": "out of scope",
        }
        assert list(tmp_path.iterdir()) == []

    asyncio.run(story())


def test_the_user_agent_names_the_contact(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite(SITE).serving() as site:
            os.environ["IPMICRA_CRAWLER_CONTACT"] = "https://crawls.example/about"
            try:
                code, _, _ = await run(tmp_path, site.address, *LOOPBACK)
            finally:
                del os.environ["IPMICRA_CRAWLER_CONTACT"]
        assert code == 0
        agents = {asked.headers["user-agent"] for asked in site.asked}
        assert len(agents) == 1
        assert agents.pop().endswith("(+https://crawls.example/about)")

    asyncio.run(story())


def endless(asked: Asked) -> Answer:
    if asked.path == "/robots.txt":
        return Answer(status=404)
    number = int(asked.path.strip("/") or 0)
    return html(f"/{2 * number + 1}", f"/{2 * number + 2}")


def test_ctrl_c_stops_cleanly_and_the_next_run_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite(endless).serving() as site:
            process = await start(tmp_path, site.address, *LOOPBACK, "--json", rate=40)
            while len(site.asked) < 10:
                await asyncio.sleep(0.005)
            process.send_signal(signal.SIGINT)
            output, _ = await asyncio.wait_for(process.communicate(), 30)
            assert process.returncode == 130
            first = json.loads(output)
            assert first["interrupted"]
            assert first["pages"] == len(site.asked) - 1
            more = first["pages"] + 5
            code, output, _ = await run(
                tmp_path, site.address, *LOOPBACK, "--json", "--pages", str(more)
            )
        assert (code, json.loads(output)["pages"]) == (0, more)
        assert len(set(site.paths())) == len(site.paths()) == more + 1

    asyncio.run(story())


def test_a_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        def slow(asked: Asked) -> Answer:
            return endless(asked)._replace(seconds=30 if asked.path == "/1" else 0)

        async with LocalSite(slow).serving() as site:
            process = await start(tmp_path, site.address, *LOOPBACK)
            while "/1" not in site.paths():
                await asyncio.sleep(0.005)
            process.send_signal(signal.SIGINT)
            await process.stderr.readuntil(b"stops at once")
            process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(process.wait(), 5) == 130
            await process.communicate()

    asyncio.run(story())


def test_on_a_terminal_the_figures_are_shown_while_it_runs(tmp_path: Path) -> None:
    async def story() -> None:
        ours, theirs = pty.openpty()
        async with LocalSite(endless).serving() as site:
            process = await start(
                tmp_path, site.address, *LOOPBACK, "--pages", "60", rate=50, stderr=theirs
            )
            os.close(theirs)
            await asyncio.wait_for(process.communicate(), 60)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        os.close(ours)
        for word in (b"pages", b"sites", b"queue", b"errors", b"bytes", b"/s)"):
            assert word in shown

    asyncio.run(story())


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # the other end is closed and everything is read
        return b""


def test_a_site_that_is_not_there_is_its_fault(tmp_path: Path) -> None:
    async def story() -> None:
        code, _, errors = await run(tmp_path, "http://nowhere.invalid/", *LOOPBACK)
        assert code == 4
        assert "dns" in errors

    asyncio.run(story())


@pytest.mark.parametrize(
    "words",
    [
        ["mailto:x@example.org"],
        ["http://127.0.0.1/", "--scope", "pattern"],
        ["http://127.0.0.1/", "--pattern", "x"],
        ["http://127.0.0.1/", "--scope", "pattern", "--pattern", "("],
        ["http://127.0.0.1/", "--allow-range", "nonsense"],
        ["http://127.0.0.1/", *LOOPBACK, "--name", "../elsewhere"],
        ["http://127.0.0.1/", *LOOPBACK, "--name", "a/b"],
        ["http://127.0.0.1/", *LOOPBACK, "--name", "x.1of2"],
    ],
)
def test_wrong_wishes_are_the_operator_s_fault(words: list[str], tmp_path: Path) -> None:
    assert command_line.run(["--set", f'general.data_folder="{tmp_path}"', "crawl", *words]) == 3


def _no_file_above_256_kib() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))


def test_when_the_disk_takes_no_more_it_says_so_and_the_next_run_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        def page(asked: Asked) -> Answer:
            number = asked.path.strip("/") or "0"
            if not number.isdigit():
                return Answer(status=404)
            near = [3 * int(number) + branch for branch in (1, 2, 3)]
            words = " ".join(hashlib.sha256(f"{number} {at}".encode()).hexdigest() for at in range(200))
            return html(*(f"/{other}" for other in near if other < 120), text=words)

        async with LocalSite(page).serving() as site:
            process = await start(tmp_path, site.address, *LOOPBACK, preexec_fn=_no_file_above_256_kib)
            _, errors = await asyncio.wait_for(process.communicate(), 60)
            assert process.returncode == 5, errors.decode()
            assert b"Traceback" not in errors
            assert b"run the same command again" in errors
            code, output, _ = await run(tmp_path, site.address, *LOOPBACK, "--json")
        assert (code, json.loads(output)["pages"]) == (0, 120)
        (spool,) = (tmp_path / "spool").iterdir()
        urls = [record.url for record in records_in(spool)]
        assert len(urls) == len(set(urls)) == 120

    asyncio.run(story())


def _broken(frontier: Path) -> None:
    with frontier.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xa5" * (12 * 4096))


def _a_folder(frontier: Path) -> None:
    frontier.unlink()
    frontier.mkdir()


@pytest.mark.parametrize("mishap", [_broken, _a_folder])
def test_a_frontier_that_cannot_be_read_is_named(tmp_path: Path, mishap: Callable[[Path], None]) -> None:
    async def story() -> None:
        async with LocalSite(SITE).serving() as site:
            assert (await run(tmp_path, site.address, *LOOPBACK))[0] == 0
            (frontier,) = (tmp_path / "frontier").glob("*.sqlite")
            mishap(frontier)
            code, _, errors = await run(tmp_path, site.address, *LOOPBACK)
        assert code == 5
        assert "Traceback" not in errors
        assert str(frontier) in errors

    asyncio.run(story())


def test_a_data_folder_that_is_none_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        (tmp_path / "file").touch()
        async with LocalSite(SITE).serving() as site:
            code, _, errors = await run(tmp_path / "file", site.address, *LOOPBACK)
        assert code == 5
        assert str(tmp_path / "file") in errors
        assert "Traceback" not in errors

    asyncio.run(story())


def test_a_site_that_does_not_answer_is_told_while_it_is_waited_for(tmp_path: Path) -> None:
    async def story() -> None:
        process = await start(tmp_path, DEAD, *LOOPBACK, settings={"crawler.patience_seconds": "100"})
        told = await asyncio.wait_for(process.stderr.readuntil(b"asked again"), 30)
        assert b"waits 60 s until a site may be" in told
        assert b"cannot connect" in await asyncio.wait_for(process.stderr.readline(), 30)
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 130

    asyncio.run(story())


def test_a_dry_run_does_not_wait_for_a_dead_site(tmp_path: Path) -> None:
    async def story() -> None:
        process = await start(
            tmp_path, DEAD, *LOOPBACK, "--dry-run", settings={"crawler.patience_seconds": "100"}
        )
        output, _ = await asyncio.wait_for(process.communicate(), 30)
        assert b"failed: robots_unreachable: connect: cannot connect" in output

    asyncio.run(story())


def test_a_dry_run_shows_addresses_as_they_are(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite({"/": html("/?a=[/b]")}).serving() as site:
            code, output, _ = await run(tmp_path, site.address, *LOOPBACK, "--dry-run")
        assert code == 0
        assert f"{site.address}/?a=[/b]" in output

    asyncio.run(story())

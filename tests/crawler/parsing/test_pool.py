"""Parser processes: they give what parsing here gives, and end with the page that harms them alone."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time

import pytest

from ipmicra.crawler.parsing import process
from ipmicra.crawler.parsing.jobs import ParseJob, parse
from ipmicra.crawler.parsing.pool import (
    PROCESSES_MAX,
    WAITING_BYTES_MAX,
    ParserKilled,
    ParserLimits,
    ParserPool,
    ParsersBusy,
)
from ipmicra.crawler.parsing.weight import LIGHT_BYTES_MAX, LIGHT_TAGS_MAX, is_light
from tests.hostile.hostile_pdf import nested_forms

URL = "http://a.example/d/"
HEAVY = b"<title>heavy</title>" + b"".join(b"<a href=/%d>%d</a>" % (n, n) for n in range(LIGHT_TAGS_MAX))
CHARSETS = (
    *("gb18030", "shift_jis", "big5", "euc-kr", "iso-2022-jp", "windows-1255", "koi8-r", "utf-16"),
    *("iso-8859-3", "x-user-defined", "macintosh", "no-such-charset"),
)


def job(body: bytes, content_type: str = "text/html") -> ParseJob:
    return ParseJob(body=body, content_type=content_type, url=URL, last_modified="Sun, 01 Nov 2026")


def test_what_takes_a_moment_is_light_and_nothing_else() -> None:
    assert is_light(job(b"<p>" * LIGHT_TAGS_MAX))
    assert not is_light(job(b"<p>" * (LIGHT_TAGS_MAX + 1)))
    assert not is_light(job(b"a" * (LIGHT_BYTES_MAX + 1)))
    assert not is_light(job(b"", "Application/PDF; x=y"))


def test_a_process_parses_as_this_one_does_in_every_charset() -> None:
    """It can open no file any more: whatever parsing loads late, it has loaded before."""
    heavy = [job(HEAVY + bytes(range(128, 256)), f"text/html; charset={name}") for name in CHARSETS]
    heavy += [job(mark + HEAVY) for mark in (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")]
    heavy += [
        job(HEAVY, "application/xhtml+xml"),
        job(HEAVY, "text/plain"),
        job(b"none", "application/pdf"),
    ]

    async def story() -> None:
        async with ParserPool(ParserLimits()) as pool:
            for one in heavy:
                assert await pool.parse(one) == parse(one), one.content_type

    asyncio.run(story())


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (
            ParserLimits(seconds_max=1.0),
            f"ended with -({signal.SIGXCPU.value}|{signal.SIGABRT.value})$|longer than 6 s",
        ),
        (ParserLimits(seconds_max=120.0, bytes_max=256 << 20), "ended with"),
    ],
    ids=["time", "memory"],
)
def test_a_pdf_without_end_is_ended_and_the_next_page_is_parsed(limits: ParserLimits, why: str) -> None:
    async def story() -> None:
        async with ParserPool(limits) as pool:
            with pytest.raises(ParserKilled, match=why):
                await pool.parse(job(nested_forms(12), "application/pdf"))
        async with ParserPool(ParserLimits()) as pool:
            assert (await pool.parse(job(HEAVY))).page.title == "heavy"

    asyncio.run(story())


def test_the_loop_runs_while_a_pdf_is_read() -> None:
    async def story() -> float:
        longest, at = 0.0, time.thread_time()
        async with ParserPool(ParserLimits(seconds_max=1.0)) as pool:
            reading = asyncio.create_task(pool.parse(job(nested_forms(12), "application/pdf")))
            while not reading.done():
                await asyncio.sleep(0.01)
                longest, at = max(longest, time.thread_time() - at), time.thread_time()
            with pytest.raises(ParserKilled):
                reading.result()
        return longest

    assert asyncio.run(story()) < 0.05


def test_what_waits_for_a_process_is_bounded() -> None:
    async def story() -> None:
        large = job(b"a" * (WAITING_BYTES_MAX // 2))
        async with ParserPool(ParserLimits()) as pool:
            outcomes = await asyncio.gather(
                *(pool.parse(large) for _ in range(PROCESSES_MAX + 4)), return_exceptions=True
            )
        assert sum(isinstance(outcome, ParsersBusy) for outcome in outcomes) == 2
        assert not [one for one in outcomes if isinstance(one, ParserKilled)]

    asyncio.run(story())


@pytest.mark.parametrize(
    "attack",
    [
        "open('/etc/hostname')",
        "socket.socket()",
        "os.write(os.memfd_create('x'), b'x')",
        "bytearray(2 << 30)",
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)) if os.geteuid() else 1 / 0",
    ],
)
def test_a_parser_process_has_given_up_what_it_does_not_need(attack: str) -> None:
    program = (
        "import os, resource, socket\n"
        f"from {process.__name__} import _become_confined\n"
        f"_become_confined(1 << 30)\ntry:\n    {attack}\n"
        "except (OSError, MemoryError, ValueError, ZeroDivisionError):\n    os._exit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 3

"""Steps of a response: others run in between, and the page is named while it is worked on."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path

from ipmicra.crawler.parsing.in_progress import InProgress
from ipmicra.crawler.parsing.jobs import ParsedPage, ParseJob
from ipmicra.crawler.parsing.pool import ParserPool
from ipmicra.crawler.step_runner import StepRunner
from ipmicra.model.urls import Url

PAGE = Url("http://a.example/")


def test_jobs_are_parsed_others_run_in_between_and_the_page_is_named(tmp_path: Path) -> None:
    work, others = tmp_path / "x", list[str]()

    def named() -> Url | None:
        reader = InProgress(work)
        reader.close()
        return reader.found

    def steps() -> Generator[ParseJob | None, ParsedPage, str]:
        assert named() == PAGE
        parsed = yield ParseJob(body=b"<title>a</title>", content_type="text/html", url=PAGE)
        assert named() == PAGE
        yield None
        assert others == ["ran"]
        return parsed.page.title

    async def other() -> None:
        assert named() is None
        others.append("ran")

    async def story() -> None:
        runner = StepRunner(ParserPool(None), InProgress(work))
        running = asyncio.create_task(runner.run(PAGE, steps()))
        await asyncio.sleep(0)
        await other()
        assert await running == "a"
        assert named() is None

    asyncio.run(story())

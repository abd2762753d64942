"""Pages that kill their processing: recorded, left alone for longer each time, costly for their site."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from ipmicra.crawler.decisions.revisit import RevisitRules, killed_seconds
from ipmicra.crawler.engine import PENALTY_PAGES
from ipmicra.crawler.frontier import Batch, DiscoveredUrl, Frontier, VisitOutcome
from ipmicra.crawler.frontier.poison import SUSPICIONS_MAX
from ipmicra.model.urls import Url, site_of
from tests.crawler.crawl_harness import crawl
from tests.crawler.local_site import Answer, LocalSite, html
from tests.hostile.hostile_pdf import nested_forms

PDF = Answer(nested_forms(12), headers={"Content-Type": "application/pdf"})
PAGES = {"/robots.txt": Answer(status=404), "/": html("/a.pdf"), "/a.pdf": PDF}
PAGE = Url("http://a.example/poison")
NOW_MS = 1_800_000_000_000


def test_a_page_whose_processing_was_killed_is_recorded_and_not_tried_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite(PAGES).serving() as site:
            done = await crawl(tmp_path, site.address, parser_seconds_max=0.5)
            assert done.failures() == {f"{site.address}/a.pdf": "processing_killed"}
            assert done.seen() == {f"{site.address}/"}
            again = await crawl(tmp_path, f"{site.address}/a.pdf", site.address, parser_seconds_max=0.5)
            assert again.progress.pages == 0, "a seed that failed is tried again, but not this one"
            assert site.paths().count("/a.pdf") == 1
            frontier = Frontier(done.job.frontier_path)
            state = frontier.site(site_of(Url(f"{site.address}/")))
            frontier.close()
            assert state is not None
            assert state.pages_fetched >= PENALTY_PAGES
            assert state.clock.blocked_until > time.time()

    asyncio.run(story())


def test_each_kill_doubles_the_time_to_the_next_visit() -> None:
    rules = RevisitRules()
    times = [killed_seconds(3_600.0, kills, rules) for kills in range(4)]
    assert times == [rules.interval_seconds_first * 2**kills for kills in range(4)]
    assert killed_seconds(10 * 86_400.0, 1, rules) == 20 * 86_400.0


def queued(folder: Path) -> Frontier:
    frontier = Frontier(folder / "frontier.sqlite")
    frontier.add([DiscoveredUrl(PAGE, 0, 0)])
    return frontier


def visit(frontier: Frontier, killed: bool) -> None:
    site = frontier.site(site_of(PAGE))
    assert site is not None
    (leased,) = frontier.lease(site, NOW_MS + 10_000, 1)
    done = VisitOutcome(leased, 0, NOW_MS, NOW_MS + 1_000, killed=killed)
    frontier.commit(Batch(visited=[done], sites=[site], closed_sites={site.id}))
    frontier.promote_revisits(NOW_MS + 1_000, 10)


def kills(frontier: Frontier) -> int:
    site = frontier.site(site_of(PAGE))
    assert site is not None
    (leased,) = frontier.lease(site, NOW_MS + 10_000, 1)
    return frontier.kills_of(leased)


def reopened(frontier: Frontier, folder: Path) -> Frontier:
    frontier.close()
    return Frontier(folder / "frontier.sqlite")


def test_kills_are_counted_over_restarts_and_forgotten_when_all_is_well(tmp_path: Path) -> None:
    frontier = queued(tmp_path)
    visit(frontier, killed=True)
    frontier = reopened(frontier, tmp_path)
    visit(frontier, killed=True)
    frontier = reopened(frontier, tmp_path)
    assert kills(frontier) == 2
    frontier = reopened(frontier, tmp_path)
    visit(frontier, killed=False)
    assert kills(frontier) == 0
    frontier.close()


def test_a_hand_over_carries_the_kills(tmp_path: Path) -> None:
    before = queued(tmp_path)
    visit(before, killed=True)
    after = Frontier(tmp_path / "after.sqlite")
    after.import_site(list(before.export_site(site_of(PAGE))))
    assert kills(after) == 1
    before.forget_site(site_of(PAGE))
    before.add([DiscoveredUrl(PAGE, 0, 0)])
    assert kills(before) == 0
    for frontier in (before, after):
        frontier.close()


def test_neither_a_sitemap_nor_a_resend_nor_a_seed_makes_poison_due(tmp_path: Path) -> None:
    frontier = queued(tmp_path)
    site = frontier.site(site_of(PAGE))
    assert site is not None
    (leased,) = frontier.lease(site, NOW_MS, 1)
    done = VisitOutcome(leased, 0, NOW_MS, NOW_MS + 10**9, killed=True)
    frontier.commit(Batch(visited=[done], closed_sites={site.id}))
    frontier.add([DiscoveredUrl(PAGE, 0, NOW_MS, modified_ms=NOW_MS + 1)])
    assert frontier.force_full_resend([PAGE], NOW_MS + 2) == 0
    assert frontier.retry_failed([PAGE], NOW_MS + 2) == 0
    assert frontier.promote_revisits(NOW_MS + 3, 10) == 0
    frontier.close()


def test_a_frontier_without_the_table_gets_it_and_stays_readable_for_older_code(tmp_path: Path) -> None:
    queued(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "frontier.sqlite")) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute("DROP TABLE poison")
    frontier = Frontier(tmp_path / "frontier.sqlite")
    visit(frontier, killed=True)
    frontier.close()
    with closing(sqlite3.connect(tmp_path / "frontier.sqlite")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (version,)


@pytest.mark.parametrize(("is_certain", "deaths"), [(True, 1), (False, SUSPICIONS_MAX)])
def test_who_dies_of_a_page_once_for_certain_or_twice_leaves_it_out(
    tmp_path: Path, is_certain: bool, deaths: int
) -> None:
    for death in range(1, deaths + 1):
        frontier = queued(tmp_path)
        blamed = frontier.on_interrupted(PAGE, is_certain)
        assert (blamed is not None) == (death == deaths)
        frontier.close()


CRAWL_THAT_DIES = """
import asyncio, os, signal, sys
from pathlib import Path
from ipmicra.crawler.parsing import jobs
from tests.crawler.crawl_harness import crawl

extract = jobs.extract
def extract_most(body, *rest, **others):
    if b"deadly" in body:
        os.kill(os.getpid(), signal.SIGKILL)
    return extract(body, *rest, **others)
jobs.extract = extract_most
asyncio.run(crawl(Path(sys.argv[1]), sys.argv[2]))
"""


def test_a_crawl_that_dies_of_a_page_comes_to_its_end_without_it(tmp_path: Path) -> None:
    pages = {"/": html("/a", "/b"), "/a": html(text="deadly"), "/b": html()}

    def run(address: str) -> int:
        words = [sys.executable, "-c", CRAWL_THAT_DIES, str(tmp_path), address]
        return subprocess.run(words, check=False, cwd=Path(__file__).parents[2]).returncode

    async def story() -> None:
        async with LocalSite(pages).serving() as site:
            codes = [await asyncio.to_thread(run, site.address) for _ in range(3)]
            assert codes[:2] == [-signal.SIGKILL] * 2
            assert codes[2] == 0
            assert site.paths().count("/a") == 2
            (frontier_file,) = (tmp_path / "frontier").glob("*.sqlite")
            frontier = Frontier(frontier_file)
            assert frontier.in_progress.found is None
            frontier.close()

    asyncio.run(story())

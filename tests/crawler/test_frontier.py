"""The frontier against a model in plain Python, and what it keeps when the process is gone."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ipmicra.carrier.spool import SpoolPosition
from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.decisions.revisit import ChangeHistory
from ipmicra.crawler.decisions.scope import SiteBudget
from ipmicra.crawler.decisions.traps import TrapRules
from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.crawler.frontier import (
    Batch,
    DiscoveredUrl,
    Frontier,
    FrontierSite,
    LeasedUrl,
    RetryLater,
    VisitOutcome,
)
from ipmicra.crawler.frontier.seen_cache import SeenCache
from ipmicra.errors import HostFault
from ipmicra.model.urls import Site, Url

A, B = Site("http://a.org"), Site("http://b.org")


@contextmanager
def opened(folder: Path, name: str = "f", budget: SiteBudget | None = None) -> Iterator[Frontier]:
    path = folder / f"{name}.sqlite"
    frontier = Frontier(path, budget) if budget else Frontier(path)
    try:
        yield frontier
    finally:
        frontier.close()


def found(*urls: str, due_ms: int = 0) -> list[DiscoveredUrl]:
    return [DiscoveredUrl(Url(url), 0, due_ms) for url in urls]


def lease_all(frontier: Frontier, now_ms: int = 10**15) -> tuple[list[FrontierSite], list[LeasedUrl]]:
    sites = frontier.sites_to_open(now_ms, 100)
    return sites, [leased for site in sites for leased in frontier.lease(site, now_ms, 100)]


def test_a_url_is_queued_once_however_often_it_is_found(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        assert frontier.add(found("http://a.org/", "http://a.org/", "http://b.org/")) == 2
        assert frontier.add(found("http://a.org/")) == 0
        _, leased = lease_all(frontier)
        assert sorted(lease.url for lease in leased) == ["http://a.org/", "http://b.org/"]


def test_urls_of_a_site_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    times = list(range(50))
    random.Random(3).shuffle(times)
    with opened(tmp_path) as frontier:
        frontier.add(DiscoveredUrl(Url(f"http://a.org/{time}"), 0, time) for time in times)
        (site,) = frontier.sites_to_open(100, 10)
        assert [leased.due_ms for leased in frontier.lease(site, 30, 100)] == list(range(31))


def test_leases_of_a_dead_process_are_pending_again(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.add(found("http://a.org/1", "http://a.org/2"))
        (site,), first = lease_all(frontier)
        frontier.commit(Batch(visited=[VisitOutcome(first[0], 200, 1)]), [site.id])
    with opened(tmp_path) as frontier:
        _, again = lease_all(frontier)
        assert [leased.url for leased in again] == [first[1].url]


def test_a_lease_is_given_once(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.add(found("http://a.org/1"))
        (site,), _ = lease_all(frontier)
        assert frontier.lease(site, 10**15, 10) == []
        assert frontier.sites_to_open(10**15, 10) == []
        frontier.commit(Batch(closed_sites={site.id}), [site.id])
        assert frontier.next_ready_ms() is None


def test_a_batch_that_fails_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.add(found("http://a.org/1"))
        (site,), (leased,) = lease_all(frontier)
        broken = Batch(
            visited=[VisitOutcome(leased, 200, 1)],
            discoveries=found("http://c.org/"),
            measured=[FetchStatistics(A, None)],  # type: ignore[arg-type] # what is tested
        )
        with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
            frontier.commit(broken)
        assert frontier.counts() == (1, 1, 0, 0, 1)
        frontier.commit(Batch(discoveries=found("http://c.org/")), [site.id])
        assert frontier.counts().sites == 2


def test_what_was_learned_comes_back_with_the_next_lease(tmp_path: Path) -> None:
    history = ChangeHistory(3, 1, 300.0)
    with opened(tmp_path) as frontier:
        frontier.add(found("http://a.org/1"))
        (site,), (leased,) = lease_all(frontier)
        done = VisitOutcome(leased, 200, 5, 50, '"tag"', "yesterday", b"hash", history, 1000)
        frontier.commit(Batch(visited=[done], closed_sites={site.id}), [site.id])
        assert frontier.promote_revisits(49, 10) == 0
        assert frontier.promote_revisits(50, 10) == 1
        _, (again,) = lease_all(frontier)
    assert (again.visit, again.fetched_ms, again.etag, again.last_modified) == (
        1,
        5,
        '"tag"',
        "yesterday",
    )
    assert (again.content_hash, again.history) == (b"hash", history)


def test_a_sitemap_that_names_a_later_change_hastens_the_revisit(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.add(found("http://a.org/1"))
        (site,), (leased,) = lease_all(frontier)
        done = VisitOutcome(leased, 200, 1_000, 9_000_000)
        frontier.commit(Batch(visited=[done], closed_sites={site.id}), [site.id])
        for modified_ms, due in ((999, 0), (1_001, 1)):
            hint = DiscoveredUrl(Url("http://a.org/1"), 0, 2_000, modified_ms=modified_ms)
            assert frontier.commit(Batch(discoveries=[hint])) == 0
            assert frontier.promote_revisits(2_000, 10) == due


def test_how_often_a_page_changes_is_heard_though_it_was_visited_before(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.add(found("http://a.org/1"))
        (site,), (leased,) = lease_all(frontier)
        done = VisitOutcome(leased, 200, 1_000, 2_000)
        frontier.commit(Batch(visited=[done], closed_sites={site.id}), [site.id])
        frontier.commit(Batch(discoveries=[DiscoveredUrl(Url("http://a.org/1"), 0, 2_000, 0, 86_400)]))
        assert frontier.promote_revisits(2_000, 10) == 1
        _, (again,) = lease_all(frontier)
        assert again.hint_seconds == 86_400


def test_what_a_clock_that_ran_ahead_put_off_for_years_is_brought_near(tmp_path: Path) -> None:
    year_ms = 365 * 86_400_000
    with opened(tmp_path) as frontier:
        frontier.add(
            [*found("http://a.org/1", due_ms=year_ms), *found("http://a.org/2", due_ms=year_ms + 1)]
        )
        frontier.add(found("http://b.org/1", due_ms=86_400_000))
        (site,) = frontier.sites_to_open(year_ms, 1)[:1]
        site.clock = PolitenessClock(next_at=year_ms / 1000, blocked_until=year_ms / 1000)
        clocks = {"192.0.2.1": site.clock}
        frontier.commit(Batch(sites=[site], closed_sites={site.id}, addresses=clocks), [site.id])
        frontier.repair_future_timestamps(5_000)
        assert frontier.next_ready_ms() == 5_000
        assert frontier.address_clock("192.0.2.1").next_at == 0
        (again,) = frontier.sites_to_open(5_000, 10)
        assert again.site == "http://a.org"
        assert len(frontier.lease(again, 5_000, 10)) == 2


def test_a_site_is_ready_when_its_queue_and_its_clock_are(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.add(found("http://a.org/1", due_ms=2_000))
        assert frontier.next_ready_ms() == 2_000
        (site,) = frontier.sites_to_open(2_000, 1)
        site.clock = PolitenessClock(next_at=3.0, blocked_until=7.5)
        frontier.commit(Batch(sites=[site], closed_sites={site.id}), [site.id])
        assert frontier.next_ready_ms() == 7_500


def test_a_site_over_its_budget_is_never_ready(tmp_path: Path) -> None:
    with opened(tmp_path, budget=SiteBudget(pages=2, bytes=10**9, depth=9)) as frontier:
        frontier.add(found("http://a.org/1", "http://a.org/2"))
        (site,) = frontier.sites_to_open(10, 1)
        site.pages_fetched = 2
        frontier.commit(Batch(sites=[site], closed_sites={site.id}), [site.id])
        assert frontier.sites_to_open(10, 1) == []
        assert frontier.next_ready_ms() is None
    with opened(tmp_path) as frontier:
        assert len(frontier.sites_to_open(10, 1)) == 1


def test_endless_queries_of_one_path_are_cut_off(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path / "f.sqlite", rules=TrapRules(queries_per_path_max=3))
    try:
        assert frontier.add(found(*(f"http://a.org/s?page={number}" for number in range(9)))) == 3
        assert (
            frontier.add(found("http://a.org/s?page=x", "http://a.org/t?page=1", "http://a.org/s")) == 2
        )
    finally:
        frontier.close()


def test_a_second_process_is_told_to_wait(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(HostFault, match="another process"):
        Frontier(tmp_path / "f.sqlite")


def test_a_file_that_is_no_frontier_is_the_host_s_fault(tmp_path: Path) -> None:
    (tmp_path / "f.sqlite").write_bytes(b"no database at all" * 1000)
    with pytest.raises(HostFault, match="damaged"):
        Frontier(tmp_path / "f.sqlite")


def test_the_spool_position_and_clocks_are_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        assert frontier.spool_position() is None
        frontier.commit(
            Batch(position=SpoolPosition(3, 77), addresses={"192.0.2.1": PolitenessClock(5.0)})
        )
    with opened(tmp_path) as frontier:
        assert frontier.spool_position() == SpoolPosition(3, 77)
        assert frontier.address_clock("192.0.2.1") == PolitenessClock(5.0)
        assert frontier.address_clock("192.0.2.2") == PolitenessClock()


def test_measurements_add_up_and_keep_the_least_round_trip(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        for round_trip in (None, 900, 700, 800, None):
            frontier.commit(
                Batch(measured=[FetchStatistics(A, "192.0.2.1", 1, round_trip, 2.0, 3.0, 10, 1)])
            )
        assert list(frontier.measured()) == [FetchStatistics(A, "192.0.2.1", 5, 700, 10.0, 15.0, 50, 5)]


def test_a_site_moves_to_another_crawler_with_all_that_is_known(tmp_path: Path) -> None:
    with opened(tmp_path, "old") as old, opened(tmp_path, "new") as new:
        old.add(found(*(f"http://a.org/{number}" for number in range(5)), "http://b.org/"))
        site = next(site for site in old.sites_to_open(10, 10) if site.site == A)
        first, second, *_ = old.lease(site, 10, 3)
        site.clock, site.robots_until, site.robots_status = PolitenessClock(9.0), 99.0, 200
        site.robots_body, site.pages_fetched = b"User-agent: *", 2
        old.commit(
            Batch(
                visited=[
                    VisitOutcome(first, 200, 5, 5_000, '"t"', None, b"h", ChangeHistory(1, 1, 9.0), 10)
                ],
                put_off=[RetryLater(second, 7_000)],
                sites=[site],
                robots=[site],
                closed_sites={site.id},
                addresses={"192.0.2.1": PolitenessClock(8.0)},
                measured=[FetchStatistics(A, "192.0.2.1", 2, 500)],
            ),
            [site.id],
        )
        chunks = list(old.export_site(A))
        assert new.import_site(chunks) == A
        assert new.import_site(chunks) == A  # on any doubt, again
        old.forget_site(A)
        assert old.counts() == (1, 1, 1, 0, 1)
        assert new.counts() == (5, 4, 0, 0, 1)
        assert new.address_clock("192.0.2.1") == PolitenessClock(8.0)
        (moved,) = new.sites_to_open(10_000, 10)
        assert (moved.clock, moved.robots_body, moved.pages_fetched) == (
            PolitenessClock(9.0),
            b"User-agent: *",
            2,
        )
        assert sorted(leased.due_ms for leased in new.lease(moved, 10_000, 10)) == [0, 0, 0, 7_000]
        assert new.promote_revisits(5_000, 10, [moved.id]) == 1
        (again,) = new.lease(moved, 10_000, 10)
        assert (again.url, again.etag, again.visit, again.history) == (
            first.url, '"t"', 1, ChangeHistory(1, 1, 9.0),
        )  # fmt: skip


class FrontierAgainstModel(RuleBasedStateMachine):
    """Any sequence of finding, leasing, finishing, putting off and dying."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.frontier = Frontier(Path(self.folder.name) / "f.sqlite")
        self.pending: dict[str, int] = {}
        self.leased: dict[str, LeasedUrl] = {}
        self.done: set[str] = set()
        self.open: dict[int, FrontierSite] = {}

    @rule(numbers=st.lists(st.integers(0, 30), max_size=8), site=st.sampled_from([A, B]))
    def find(self, numbers: list[int], site: Site) -> None:
        urls = [f"{site}/{number}" for number in numbers]
        fresh = set(urls) - set(self.pending) - set(self.leased) - self.done
        batch = Batch(discoveries=[DiscoveredUrl(Url(url), 0, 5) for url in urls])
        assert self.frontier.commit(batch, self.open) == len(fresh)
        self.pending |= dict.fromkeys(fresh, 5)

    @rule(limit=st.integers(1, 4))
    def lease(self, limit: int) -> None:
        self.open |= {site.id: site for site in self.frontier.sites_to_open(100, 10)}
        for site in self.open.values():
            for leased in self.frontier.lease(site, 100, limit):
                assert self.pending.pop(leased.url) == leased.due_ms <= 100
                self.leased[leased.url] = leased

    @rule(count=st.integers(0, 5), close=st.booleans())
    def finish(self, count: int, close: bool) -> None:
        chosen = [self.leased.pop(url) for url in sorted(self.leased)[:count]]
        batch = Batch(visited=[VisitOutcome(leased, 200, 1) for leased in chosen])
        if close:
            batch.closed_sites = self._without_leases()
        self.frontier.commit(batch, self.open)
        self.done |= {leased.url for leased in chosen}
        for site_id in batch.closed_sites:
            del self.open[site_id]

    @rule(count=st.integers(0, 5), due_ms=st.integers(50, 150))
    def put_off(self, count: int, due_ms: int) -> None:
        chosen = [self.leased.pop(url) for url in sorted(self.leased)[-count:]] if count else []
        self.frontier.commit(Batch(put_off=[RetryLater(leased, due_ms) for leased in chosen]), self.open)
        self.pending |= {leased.url: due_ms for leased in chosen}

    @rule()
    def die(self) -> None:
        self.frontier.close()
        self.frontier = Frontier(Path(self.folder.name) / "f.sqlite")
        self.pending |= {url: leased.due_ms for url, leased in self.leased.items()}
        self.leased.clear()
        self.open.clear()

    @invariant()
    def counts_agree(self) -> None:
        counts = self.frontier.counts()
        assert counts.known == len(self.pending) + len(self.leased) + len(self.done)
        assert counts.pending == len(self.pending) + len(self.leased)
        assert counts.done == len(self.done)

    @invariant()
    def a_closed_site_with_due_urls_is_ready(self) -> None:
        held = {site.site for site in self.open.values()}
        waiting = [due for url, due in self.pending.items() if not url.startswith(tuple(held) or ("-",))]
        assert self.frontier.next_ready_ms() == min(waiting, default=None)

    def teardown(self) -> None:
        self.frontier.close()
        self.folder.cleanup()

    def _without_leases(self) -> set[int]:
        busy = {leased.site_id for leased in self.leased.values()}
        return set(self.open) - busy


FrontierAgainstModel.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, derandomize=True
)
TestFrontierAgainstModel = FrontierAgainstModel.TestCase


def test_recent_texts_forget_but_never_invent() -> None:
    recent, everything = SeenCache(100), set[str]()
    dice = random.Random(5)
    for _ in range(500):
        texts = [str(dice.randrange(300)) for _ in range(5)]
        fresh = recent.unseen(texts)
        assert set(texts) - fresh <= everything
        everything |= set(texts)
        assert len(recent) <= 105

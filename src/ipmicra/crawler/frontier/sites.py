"""State of each site and address <-> rows: clocks, robots.txt, budgets used, measurements.

Invariant: a site is either closed, with `ready_ms` saying when it is worth opening, or open in a site
worker of this process, with `ready_ms` NULL. A process that starts finds sites with a queue and no
`ready_ms`: their site workers died, and they are woken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.decisions.scope import SiteBudget
from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.crawler.frontier.entries import FrontierSite
from ipmicra.crawler.frontier.transaction import FrontierTransaction
from ipmicra.model.ids import FrontierEpoch
from ipmicra.model.urls import Site

SITE_IDS_REMEMBERED_MAX = 10_000
FAR_MS = 2 * 86_400_000

_STATE = (
    "SELECT s.id, site, next_at, blocked_until, block_seconds, pages, bytes, coalesce(until, 0.0), status,"
    " coalesce(body, x'') FROM sites s LEFT JOIN robots r ON r.id = s.id"
)


class Sites:
    """The tables `sites`, `addresses` and `measured`. Callers hold the transaction."""

    def __init__(self, tx: FrontierTransaction) -> None:
        self._tx = tx
        self._database = tx.database
        self._ids: dict[Site, int] = {}

    def id_of(self, site: Site) -> int:
        known = self._ids.get(site)
        return self._look_up(site) if known is None else known

    def state_of(self, site: Site) -> FrontierSite | None:
        row = self._database.execute(f"{_STATE} WHERE site = ?", (site,)).fetchone()
        return None if row is None else _site_state(row)

    def ready(self, now_ms: int, limit: int, budget: SiteBudget) -> list[FrontierSite]:
        query = f"{_STATE} WHERE ready_ms <= ? AND pages < ? AND bytes < ? ORDER BY ready_ms LIMIT ?"
        values = (now_ms, budget.pages, budget.bytes, limit)
        return [_site_state(row) for row in self._database.execute(query, values)]

    def next_ready_ms(self, budget: SiteBudget) -> int | None:
        query = (
            "SELECT ready_ms FROM sites WHERE ready_ms IS NOT NULL AND pages < ? AND bytes < ?"
            " ORDER BY ready_ms LIMIT 1"
        )
        row = self._database.execute(query, (budget.pages, budget.bytes)).fetchone()
        return None if row is None else int(row[0])

    def open(self, sites: Iterable[FrontierSite]) -> None:
        rows = [(site.id,) for site in sites]
        self._database.executemany("UPDATE sites SET ready_ms = NULL WHERE id = ?", rows)

    def wake(self, site_ids: Iterable[int], epoch: FrontierEpoch) -> None:
        """Set `ready_ms` from the queue's head and the site's clock."""
        self._database.executemany(f"{_WAKE} WHERE id = ?", [(epoch, site_id) for site_id in site_ids])

    def wake_all_closed(self, epoch: FrontierEpoch) -> None:
        self._database.execute(f"{_WAKE} WHERE ready_ms IS NULL AND pending > 0", (epoch,))

    def repair_future_timestamps(self, now_ms: int, epoch: FrontierEpoch) -> None:
        """Reset pauses, blocks and retries of more than one day: the machine's clock ran ahead."""
        far_ms = now_ms + FAR_MS
        execute = self._database.execute
        execute("UPDATE addresses SET next_at = 0 WHERE next_at > ?", (far_ms / 1000,))
        sites = execute("SELECT id FROM sites WHERE ready_ms > ?", (far_ms,)).fetchall()
        for (site_id,) in sites:
            execute(
                "UPDATE sites SET next_at = min(next_at, ?1), blocked_until = min(blocked_until, ?1)"
                " WHERE id = ?2",
                (now_ms / 1000, site_id),
            )
            execute(
                "UPDATE queue SET due_ms = ?1 WHERE site_id = ?2 AND due_ms > ?3",
                (now_ms, site_id, far_ms),
            )
        self.wake((site_id for (site_id,) in sites), epoch)

    def add_pending(self, changes: Mapping[int, int]) -> None:
        """How many URLs more, or fewer, each site has queued."""
        self._database.executemany(
            "UPDATE sites SET pending = pending + ? WHERE id = ?",
            [(count, site_id) for site_id, count in changes.items()],
        )
        self._tx.add_to_counter("pending", sum(changes.values()))

    def save(self, sites: Sequence[FrontierSite]) -> None:
        self._database.executemany(
            "UPDATE sites SET pages = ?, bytes = ?, next_at = ?, blocked_until = ?, block_seconds = ?"
            " WHERE id = ?",
            [
                (
                    *(site.pages_fetched, site.bytes_fetched, site.clock.next_at),
                    *(site.clock.blocked_until, site.clock.block_seconds, site.id),
                )
                for site in sites
            ],
        )

    def save_robots(self, sites: Sequence[FrontierSite]) -> None:
        self._database.executemany(
            "INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?)",
            [(site.id, site.robots_until, site.robots_status, site.robots_body) for site in sites],
        )

    def address_clock(self, address: str) -> PolitenessClock:
        query = "SELECT next_at, blocked_until, block_seconds FROM addresses WHERE address = ?"
        row = self._database.execute(query, (address,)).fetchone()
        return PolitenessClock() if row is None else PolitenessClock(*row)

    def save_address_clocks(self, clocks: Mapping[str, PolitenessClock]) -> None:
        self._database.executemany(
            "INSERT OR REPLACE INTO addresses VALUES (?, ?, ?, ?)",
            [
                (address, clock.next_at, clock.blocked_until, clock.block_seconds)
                for address, clock in clocks.items()
            ],
        )

    def add_measured(self, measured: Iterable[FetchStatistics]) -> None:
        self._database.executemany(
            "INSERT INTO measured VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
            " fetches = fetches + excluded.fetches,"
            " round_trip_us = min(coalesce(round_trip_us, excluded.round_trip_us),"
            "     coalesce(excluded.round_trip_us, round_trip_us)),"
            " first_byte_ms = first_byte_ms + excluded.first_byte_ms,"
            " download_ms = download_ms + excluded.download_ms,"
            " bytes = bytes + excluded.bytes, unchanged = unchanged + excluded.unchanged",
            [
                (
                    *(seen.site, seen.address, seen.fetches, seen.round_trip_us),
                    *(seen.first_byte_ms, seen.download_ms, seen.bytes_on_wire, seen.unchanged),
                )
                for seen in measured
            ],
        )

    def measured(self, site: Site | None = None) -> Iterator[FetchStatistics]:
        query = "SELECT * FROM measured WHERE ?1 IS NULL OR site = ?1 ORDER BY site, address"
        for row in self._database.execute(query, (site,)):
            yield FetchStatistics(*row)

    def forget_unused(self, site: FrontierSite) -> bool:
        """Whether the site has nothing queued and was never fetched from; then it is forgotten."""
        query = "DELETE FROM sites WHERE id = ? AND pending = 0 AND pages = 0"
        forgotten = self._database.execute(query, (site.id,)).rowcount
        self._ids.pop(site.site, None)
        self._tx.add_to_counter("sites", -forgotten)
        return bool(forgotten)

    def forget_ids(self) -> None:
        """After a roll-back: some of the remembered ids may not exist."""
        self._ids.clear()

    def _look_up(self, site: Site) -> int:
        inserted = self._database.execute("INSERT OR IGNORE INTO sites (site) VALUES (?)", (site,))
        self._tx.add_to_counter("sites", inserted.rowcount)
        row = self._database.execute("SELECT id FROM sites WHERE site = ?", (site,)).fetchone()
        if len(self._ids) >= SITE_IDS_REMEMBERED_MAX:
            self._ids.clear()
        self._ids[site] = row[0]
        return int(row[0])


_WAKE = (
    "UPDATE sites SET ready_ms = max(CAST(1000 * max(next_at, blocked_until) AS INTEGER),"
    " (SELECT due_ms FROM queue WHERE site_id = sites.id AND lease <> ? ORDER BY due_ms, key LIMIT 1))"
)


def _site_state(row: tuple[object, ...]) -> FrontierSite:
    site_id, site, next_at, blocked_until, block_seconds, *rest = row
    clock = PolitenessClock(next_at, blocked_until, block_seconds)  # type: ignore[arg-type]  # SQLite rows
    return FrontierSite(site_id, site, clock, *rest)  # type: ignore[arg-type]  # SQLite rows

"""URLs that were found -> the queue, each once; and what a sitemap's dates do to those already visited.

Invariant: a key enters `known` together with its row in `queue`, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from ipmicra.crawler.decisions.traps import TrapRules, too_many_queries
from ipmicra.crawler.frontier.entries import DiscoveredUrl
from ipmicra.crawler.frontier.poison import NOT_POISON
from ipmicra.crawler.frontier.sites import Sites
from ipmicra.crawler.frontier.transaction import FrontierTransaction
from ipmicra.model.urls import Url, UrlKey, key_of, path_of, site_of

KEYS_ASKED_MAX = 500  # in one question: SQLite's older releases take 999 values
ADDED_AT_ONCE = 8 * KEYS_ASKED_MAX  # a page may hold fifty thousand, and each is some objects on its way


class UrlIntake:
    """The tables `known`, `queries` and the way into `queue`. Callers hold the transaction."""

    def __init__(self, tx: FrontierTransaction, sites: Sites, rules: TrapRules) -> None:
        self._tx, self._sites, self._rules = tx, sites, rules
        self._database = tx.database

    def add(self, discoveries: Iterable[DiscoveredUrl]) -> Counter[int]:
        """Queue what is new; how many per site."""
        per_site: Counter[int] = Counter()
        rest = iter(discoveries)
        while some := list(islice(rest, ADDED_AT_ONCE)):
            per_site.update(self._add(some))
        return per_site

    def _add(self, discoveries: list[DiscoveredUrl]) -> Counter[int]:
        """Insert in the order of keys, which is fastest for SQLite's B-tree."""
        pairs = sorted((key_of(found.url), found) for found in discoveries)
        known = self._known_among([key for key, _ in pairs])
        new: list[tuple[UrlKey, DiscoveredUrl]] = []
        for key, found in pairs:
            if key in known:
                if found.hint_seconds:
                    self._apply_hint(key, found)
                if found.modified_ms:
                    self._hasten(key, found)
            elif "?" not in found.url or self._has_room(found.url):
                new.append((key, found))
                known.add(key)
        return self._queue(new)

    def _known_among(self, keys: list[UrlKey]) -> set[UrlKey]:
        known: set[UrlKey] = set()
        for at in range(0, len(keys), KEYS_ASKED_MAX):
            asked = keys[at : at + KEYS_ASKED_MAX]
            marks = ",".join("?" * len(asked))
            query = f"SELECT key FROM known WHERE key IN ({marks})"  # noqa: S608 - nothing but marks
            known.update(key for (key,) in self._database.execute(query, asked))
        return known

    def _queue(self, new: list[tuple[UrlKey, DiscoveredUrl]]) -> Counter[int]:
        """The rows of what is new; how many per site."""
        rows = [
            (
                *(self._sites.id_of(site_of(found.url)), found.due_ms, key, found.hops),
                *(found.depth, found.hint_seconds, path_of(found.url)),
            )
            for key, found in new
        ]
        self._database.executemany("INSERT INTO known VALUES (?)", [(key,) for key, _ in new])
        self._database.executemany("INSERT INTO queue VALUES (?, ?, ?, 0, 0, ?, 0, ?, ?, ?)", rows)
        per_site = Counter(row[0] for row in rows)
        self._sites.add_pending(per_site)
        self._tx.add_to_counter("known", per_site.total())
        return per_site

    def _apply_hint(self, key: UrlKey, found: DiscoveredUrl) -> None:
        """A sitemap says how often a page changes that was visited before the sitemap was read."""
        self._database.execute(
            "UPDATE visits SET hint_seconds = ?1 WHERE key = ?2 AND hint_seconds <> ?1",
            (found.hint_seconds, key),
        )

    def _hasten(self, key: UrlKey, found: DiscoveredUrl) -> None:
        """A sitemap or feed says that the page has changed since our visit: its revisit is due now."""
        execute = self._database.execute
        row = execute(
            "SELECT site_id, revisit_ms FROM visits WHERE key = ? AND fetched_ms < ? AND revisit_ms > ?"  # noqa: S608 - our words
            f" AND {NOT_POISON}",
            (key, found.modified_ms, found.due_ms),
        ).fetchone()
        if row is not None:
            site_id, revisit_ms = row
            execute("DELETE FROM revisits WHERE due_ms = ? AND key = ?", (revisit_ms, key))
            execute("INSERT INTO revisits VALUES (?, ?, ?)", (found.due_ms, key, site_id))
            execute("UPDATE visits SET revisit_ms = ? WHERE key = ?", (found.due_ms, key))

    def _has_room(self, url: Url) -> bool:
        """Whether one more query of this path is believable; if so, it is counted."""
        key = key_of(Url(url.partition("?")[0]))
        row = self._database.execute("SELECT known FROM queries WHERE key = ?", (key,)).fetchone()
        if row is not None and too_many_queries(row[0], self._rules):
            return False
        self._database.execute(
            "INSERT INTO queries VALUES (?, 1) ON CONFLICT DO UPDATE SET known = known + 1", (key,)
        )
        return True

"""URLs that were found -> the queue, each once; and what a sitemap's dates do to those already visited.

Law: a key enters `known` together with its row in `queue`, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ipmicra.crawler.decisions.traps import TrapRules, too_many_queries
from ipmicra.crawler.decisions.urls import Url, UrlKey, key_of, path_of, site_of
from ipmicra.crawler.frontier.entries import Discovery
from ipmicra.crawler.frontier.ledger import Ledger
from ipmicra.crawler.frontier.sites import Sites


class Discovering:
    """The tables `known`, `queries` and the way into `queue`. Callers hold the transaction."""

    def __init__(self, ledger: Ledger, sites: Sites, rules: TrapRules) -> None:
        self._ledger, self._sites, self._rules = ledger, sites, rules
        self._database = ledger.database

    def add(self, discoveries: Iterable[Discovery]) -> Counter[int]:
        """Queue what is new; how many per site. In the order of keys, as the tree of keys likes it."""
        new: Counter[int] = Counter()
        for key, found in sorted((key_of(found.url), found) for found in discoveries):
            if self._is_known(key):
                if found.modified_ms:
                    self._hasten(key, found)
            elif "?" not in found.url or self._has_room(found.url):
                new[self._queue(key, found)] += 1
        self._sites.add_pending(new)
        self._ledger.count("known", new.total())
        return new

    def _is_known(self, key: UrlKey) -> bool:
        query = "SELECT 1 FROM known WHERE key = ?"
        return self._database.execute(query, (key,)).fetchone() is not None

    def _queue(self, key: UrlKey, found: Discovery) -> int:
        site_id = self._sites.id_of(site_of(found.url))
        self._database.execute("INSERT INTO known VALUES (?)", (key,))
        self._database.execute(
            "INSERT INTO queue VALUES (?, ?, ?, 0, 0, ?, 0, ?, ?, ?)",
            (
                *(site_id, found.due_ms, key, found.hops),
                *(found.depth, found.hint_seconds, path_of(found.url)),
            ),
        )
        return site_id

    def _hasten(self, key: UrlKey, found: Discovery) -> None:
        """A sitemap or feed says that the page has changed since our visit: its revisit is due now."""
        execute = self._database.execute
        row = execute(
            "SELECT site_id, revisit_ms FROM visits WHERE key = ? AND fetched_ms < ? AND revisit_ms > ?",
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

"""Links between pages -> anchor texts of a page, counts of links, and links between sites.

Invariant: a page's links are replaced together, inside the catalogue's transaction, and `site_links`
always counts the rows of `links` whose ends lie on two sites.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable

from ipmicra.model.page import Page
from ipmicra.search.keys import site_name_of, text_key
from ipmicra.search.ranking.authority import site_authority

SCHEMA = """
CREATE TABLE IF NOT EXISTS links (
    target INTEGER NOT NULL, source INTEGER NOT NULL, site INTEGER NOT NULL, target_site INTEGER NOT NULL,
    text TEXT NOT NULL, PRIMARY KEY (target, source)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_by_source ON links (source);
CREATE TABLE IF NOT EXISTS site_links (
    source INTEGER NOT NULL, target INTEGER NOT NULL, links INTEGER NOT NULL,
    PRIMARY KEY (source, target)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS authority (site INTEGER PRIMARY KEY, value REAL NOT NULL);
"""
PAIRS_MAX = 5_000_000  # of sites that are weighed: some seconds, once a cycle
LINKS_OF_A_PAGE_MAX = 500  # that lend their text and authority
ANCHORS_MAX = 30  # different texts of links to one page
_TEXT_CHARACTERS_MAX = 120

_Row = tuple[int, int, int, int, str]  # as in `links`


class LinkGraph:
    """The links in the catalogue's database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._pairs_changed = False

    def replace(self, url: str, page: Page | None) -> list[int]:
        """Replace the links of a page. Returns the keys of the targets that changed."""
        source = text_key(url)
        before = set(self._database.execute("SELECT * FROM links WHERE source = ?", (source,)))
        after = set(_rows(url, page))
        gone, new = before - after, after - before
        self._database.executemany(
            "DELETE FROM links WHERE target = ? AND source = ?", [row[:2] for row in gone]
        )
        self._database.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?)", new)
        self._count_between_sites(gone, new)
        return [row[0] for row in gone | new]

    def _count_between_sites(self, gone: Iterable[_Row], new: Iterable[_Row]) -> None:
        changes: Counter[tuple[int, int]] = Counter()
        for rows, sign in ((gone, -1), (new, 1)):
            for _, _, site, target_site, _ in rows:
                if site != target_site:
                    changes[site, target_site] += sign
        self._pairs_changed |= any(changes.values())
        self._database.executemany(
            "INSERT INTO site_links VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET links = links + excluded.links",
            [(*pair, count) for pair, count in changes.items() if count],
        )

    def weigh_sites(self) -> None:
        """Bring every site's authority up to date. The caller holds the transaction."""
        pairs = self._database.execute(
            "SELECT source, target, links FROM site_links WHERE links > 0 LIMIT ?", (PAIRS_MAX,)
        ).fetchall()
        self._database.execute("DELETE FROM authority")
        self._database.executemany("INSERT INTO authority VALUES (?, ?)", site_authority(pairs).items())

    def authority(self) -> dict[int, float]:
        return dict(self._database.execute("SELECT site, value FROM authority"))

    def pairs_changed(self) -> bool:
        """Whether links between sites came or went since this was last asked."""
        changed, self._pairs_changed = self._pairs_changed, False
        return changed

    def anchors(self, target: int) -> list[str]:
        """The anchor texts of links to the page, the most frequent first."""
        rows = self._database.execute(
            "SELECT text FROM links WHERE target = ? AND text != '' "
            "GROUP BY text ORDER BY count(*) DESC, text LIMIT ?",
            (target, ANCHORS_MAX),
        )
        return [text for (text,) in rows]

    def linking(self, target: int, own_site: int) -> tuple[int, int]:
        """The numbers of other sites and of pages of its own site that link to the page."""
        row = self._database.execute(
            "SELECT count(DISTINCT nullif(site, :own)), count(*) FILTER (WHERE site = :own) FROM links "
            "WHERE target = :target",
            {"own": own_site, "target": target},
        ).fetchone()
        return row[0], row[1]


def _rows(url: str, page: Page | None) -> list[_Row]:
    if page is None or page.robots.nofollow:
        return []
    source, site = text_key(url), text_key(site_name_of(url))
    targets = {
        link.url: link.text[:_TEXT_CHARACTERS_MAX]
        for link in reversed(page.links[:LINKS_OF_A_PAGE_MAX])
        if "nofollow" not in link.rel and link.url != url
    }
    return [
        (text_key(to), source, site, text_key(site_name_of(to)), text) for to, text in targets.items()
    ]

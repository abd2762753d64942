"""Pages that killed the processing of them -> how often, so that they are left alone for longer each time.

A page is poison once its processing was certainly ended because of it: by a deadline, a limit of memory, a
crash, or a watchdog. Where a process ended for a reason that nobody knows while it worked on a page, the page
is only suspected, and poison when it happens again. Invariant: a page that was processed well is neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from ipmicra.crawler.frontier.entries import VisitOutcome
from ipmicra.crawler.frontier.transaction import FrontierTransaction

SUSPICIONS_MAX = 2
NOT_POISON = "key NOT IN (SELECT key FROM poison WHERE kills > 0)"

# Beside the tables of `schema`, whose version it does not change: code of an earlier version, to which a host
# may roll back, opens a frontier that has it, and ignores it.
TABLE = """
CREATE TABLE IF NOT EXISTS poison (
    key INTEGER PRIMARY KEY, site_id INTEGER NOT NULL, kills INTEGER NOT NULL, suspicions INTEGER NOT NULL
)
"""


def kills_of(tx: FrontierTransaction, key: int) -> int:
    row = tx.database.execute("SELECT kills FROM poison WHERE key = ?", (key,)).fetchone()
    return 0 if row is None else int(row[0])


def add_suspicion(tx: FrontierTransaction, key: int, site_id: int) -> bool:
    """Whether the suspicion is now a certainty."""
    row = tx.database.execute(
        "INSERT INTO poison VALUES (?, ?, 0, 1) ON CONFLICT DO UPDATE SET suspicions = suspicions + 1"
        " RETURNING suspicions",
        (key, site_id),
    ).fetchone()
    return int(row[0]) >= SUSPICIONS_MAX


def record_outcomes(tx: FrontierTransaction, visited: Sequence[VisitOutcome]) -> None:
    """One more kill, or a clean slate. The caller holds the transaction."""
    killed = [(done.leased.key, done.leased.site_id) for done in visited if done.killed]
    tx.database.executemany(
        "INSERT INTO poison VALUES (?, ?, 1, 0)"
        " ON CONFLICT DO UPDATE SET kills = kills + 1, suspicions = 0",
        killed,
    )
    if tx.database.execute("SELECT 1 FROM poison LIMIT 1").fetchone() is not None:
        tx.database.executemany(
            "DELETE FROM poison WHERE key = ?",
            [(done.leased.key,) for done in visited if not done.killed],
        )


def of_site(tx: FrontierTransaction, site_id: int) -> dict[int, int]:
    """Kills by key, for a hand-over."""
    query = "SELECT key, kills FROM poison WHERE site_id = ? AND kills > 0"
    return dict(tx.database.execute(query, (site_id,)))


def import_kills(tx: FrontierTransaction, site_id: int, kills: dict[int, int]) -> None:
    """What is known here stays where it is more."""
    tx.database.executemany(
        "INSERT INTO poison VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE SET kills = max(kills, excluded.kills)",
        [(key, site_id, count) for key, count in kills.items()],
    )

"""Events that an operator may ask about later -> rows; the oldest are deleted beyond `EVENTS_MAX`.

Invariant: every kind is a member of `EventKind` and a row of `MEANINGS`, from which the reference is made.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from ipmicra.coordinator.store.sql.schema import event_table

EVENTS_MAX = 10_000


class EventKind(enum.StrEnum):
    """The value is the word that is recorded and sent; it never changes."""

    HOST_REGISTERED = "host-registered"
    HOST_ENROLLED = "host-enrolled"
    HOST_PAUSE = "host-pause"
    HOST_RESUME = "host-resume"
    HOST_UPGRADE = "host-upgrade"
    HOST_MOVE = "host-move"
    HOST_RETIRE = "host-retire"
    HOST_RETIRED = "host-retired"
    HOST_REVOKED = "host-revoked"
    HOST_LEFT = "host-left"
    CRAWLER_JOINED = "crawler-joined"
    CRAWLER_MOVED = "crawler-moved"
    MOVE_ENDED = "move-ended"
    LEASE_LOST = "lease-lost"
    LINE_CUT = "line-cut"
    LINE_BACK = "line-back"
    ORDER_REFUSED = "order-refused"
    PACKAGE_REFUSED = "package-refused"
    RECORDS_REFUSED = "records-refused"
    LINKS_DROPPED = "links-dropped"
    SUSPECTED = "suspected"
    CONTRADICTED = "contradicted"
    DISTRUSTED = "distrusted"
    PURGE_WANTED = "purge-wanted"
    PURGED = "purged"
    INDEX_LOST = "index-lost"
    INDEX_DAMAGED = "index-damaged"
    INDEX_REBUILT = "index-rebuilt"
    ROLLOUT_BEGUN = "rollout-begun"
    ROLLOUT_ROLLING = "rollout-rolling"
    ROLLOUT_HALTED = "rollout-halted"
    ROLLOUT_DONE = "rollout-done"
    RESTORED = "restored"
    TOKEN_CREATED = "token-created"  # noqa: S105 - a word
    TOKEN_REVOKED = "token-revoked"  # noqa: S105 - a word
    PAGES_SUBMITTED = "pages-submitted"


MEANINGS: Mapping[EventKind, str] = {
    EventKind.HOST_REGISTERED: "a host was registered, or was given a new join token",
    EventKind.HOST_ENROLLED: "a host joined with its token",
    EventKind.HOST_PAUSE: "the operator paused a host",
    EventKind.HOST_RESUME: "the operator ended the pause of a host",
    EventKind.HOST_UPGRADE: "the operator ordered a host to run another version",
    EventKind.HOST_MOVE: "the operator wants a crawler to move to another host",
    EventKind.HOST_RETIRE: "the operator ordered a host to give back its sites and end",
    EventKind.HOST_RETIRED: "a host has given back its sites and ended",
    EventKind.HOST_REVOKED: "the operator revoked a host",
    EventKind.HOST_LEFT: "the owner of a host ended its membership",
    EventKind.CRAWLER_JOINED: "the leader delegates to a crawler from now on",
    EventKind.CRAWLER_MOVED: "a crawler has moved to another host",
    EventKind.MOVE_ENDED: "a move ended before the crawler had moved",
    EventKind.LEASE_LOST: "a host was silent for longer than its lease; its sites go to others",
    EventKind.LINE_CUT: "nearly all hosts are silent: no lease expires, because our own network may be down",
    EventKind.LINE_BACK: "hosts send heartbeats again; every lease starts again",
    EventKind.ORDER_REFUSED: "a host refused an order",
    EventKind.PACKAGE_REFUSED: "a package was refused as a whole",
    EventKind.RECORDS_REFUSED: "records of a package were left out, because the crawler may not report them",
    EventKind.LINKS_DROPPED: "a package brought more new links or sites than the limits allow",
    EventKind.SUSPECTED: "a crawler may lie: other hosts saw other pages, and the decision is yours",
    EventKind.CONTRADICTED: "other hosts contradicted a crawler about a page",
    EventKind.DISTRUSTED: "a crawler was contradicted too often and is revoked",
    EventKind.PURGE_WANTED: "the operator requested the removal of all pages of a crawler",
    EventKind.PURGED: "the pages of a crawler are removed from the index",
    EventKind.INDEX_LOST: "the search index is not there",
    EventKind.INDEX_DAMAGED: "the search index cannot be read",
    EventKind.INDEX_REBUILT: "the search index was made anew from packages",
    EventKind.ROLLOUT_BEGUN: "the operator began to roll out a version of the code",
    EventKind.ROLLOUT_ROLLING: "a roll-out goes on to more hosts",
    EventKind.ROLLOUT_HALTED: "a roll-out stopped, because hosts failed with the version",
    EventKind.ROLLOUT_DONE: "every host has the version",
    EventKind.RESTORED: "the coordinator was restored from a backup",
    EventKind.TOKEN_CREATED: "the operator created a token for a program; the detail is its scopes",
    EventKind.TOKEN_REVOKED: "the operator revoked a token",
    EventKind.PAGES_SUBMITTED: "a program submitted new pages with the token of this name",
}


class EventRow(NamedTuple):
    at_s: float
    kind: str
    subject: str
    detail: str


def record(connection: Connection, kind: EventKind, subject: str, detail: str, now_s: float) -> None:
    row = {"at_s": now_s, "kind": kind.value, "subject": subject, "detail": detail}
    number = connection.execute(
        event_table.insert().values(row).returning(event_table.c.number)
    ).scalar_one()
    connection.execute(delete(event_table).where(event_table.c.number <= number - EVENTS_MAX))


def latest(connection: Connection, most: int) -> list[EventRow]:
    """The latest events, newest first."""
    query = select(event_table.c.at_s, event_table.c.kind, event_table.c.subject, event_table.c.detail)
    rows = connection.execute(query.order_by(event_table.c.number.desc()).limit(most))
    return [EventRow(*row) for row in rows]

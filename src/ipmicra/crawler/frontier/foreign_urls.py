"""Queued URLs of a site that another process takes care of -> links for it, and the queue without them.

Invariant: a key stays in `known`, so that each URL is forwarded once; it is counted where it went. Call
`remove` when the links are durable with the other.
"""

from __future__ import annotations

from typing import NamedTuple

from ipmicra.crawler.frontier.entries import DiscoveredUrl, FrontierSite
from ipmicra.crawler.frontier.sites import Sites
from ipmicra.crawler.frontier.transaction import FrontierTransaction
from ipmicra.model.ids import FrontierEpoch
from ipmicra.model.urls import url_at


class ForeignUrls(NamedTuple):
    """One row of the queue, as its key there and as a link."""

    due_ms: int
    key: int
    link: DiscoveredUrl


def queued_urls(tx: FrontierTransaction, site: FrontierSite, limit: int) -> list[ForeignUrls]:
    """Up to `limit` of the site's queued URLs."""
    rows = tx.database.execute(
        "SELECT due_ms, key, path, depth, hops, hint_seconds FROM queue WHERE site_id = ?"
        " ORDER BY due_ms, key LIMIT ?",
        (site.id, limit),
    )
    return [
        ForeignUrls(
            due_ms, key, DiscoveredUrl(url_at(site.site, path), depth, due_ms, hops, hint_seconds)
        )
        for due_ms, key, path, depth, hops, hint_seconds in rows
    ]


def remove(
    tx: FrontierTransaction,
    sites: Sites,
    site: FrontierSite,
    rows: list[ForeignUrls],
    epoch: FrontierEpoch,
) -> None:
    """Take the rows out of the queue. The caller holds the transaction."""
    tx.database.executemany(
        "DELETE FROM queue WHERE site_id = ? AND due_ms = ? AND key = ?",
        [(site.id, row.due_ms, row.key) for row in rows],
    )
    sites.add_pending({site.id: -len(rows)})
    tx.add_to_counter("known", -len(rows))
    if not sites.forget_unused(site):
        sites.wake([site.id], epoch)

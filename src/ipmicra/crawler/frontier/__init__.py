"""URLs that were found -> URLs to fetch next, and what is known of each; durable and of constant size.

`entries` are the words, `schema` the tables, `store` the transactions, `transfer` the hand-over of one
site to another crawler, `recent` the small memory that spares the tables most look-ups.
"""

from ipmicra.crawler.frontier.entries import (
    Batch,
    Counts,
    DiscoveredUrl,
    FrontierSite,
    LeasedUrl,
    RetryLater,
    VisitOutcome,
)
from ipmicra.crawler.frontier.store import Frontier

__all__ = [
    "Batch",
    "Counts",
    "DiscoveredUrl",
    "Frontier",
    "FrontierSite",
    "LeasedUrl",
    "RetryLater",
    "VisitOutcome",
]

"""An index, records and a query -> what is found: the words in which the promises of an index are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ipmicra.model.records import Record
from ipmicra.model.search import SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.testing.contract import Contract
from ipmicra.testing.page_records import package

OpenIndex: TypeAlias = Callable[[], SearchIndex]
INDEX: Contract[SearchIndex] = Contract("a search index")
DURABLE_INDEX: Contract[OpenIndex] = Contract("a search index in a folder")

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/docs/install.html"


def fill(index: SearchIndex, *records: Record, crawler: str = "athens", sequence: int = 1) -> int:
    """Integrate and commit a package of these records; how many changed something."""
    changed = index.integrate(*package(records, crawler, sequence))
    index.commit()
    return changed


def found(index: SearchIndex, text: str, per_site: int = 0) -> list[str]:
    """URLs of the hits, best first."""
    return [hit.url for hit in index.search(SearchRequest(text=text, per_site=per_site)).hits]

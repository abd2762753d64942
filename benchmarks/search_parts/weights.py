"""The weights of the ranking -> how each question fares under them.

Invariant: the program's own weights are changed while a setting is tried, and put back. Weights of fields
are in the index, so it is made once for each of those; all others count when a question is asked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.search_parts.judged import Judged, JudgedSet
from ipmicra.carrier.package import Package, PackageHeader
from ipmicra.model.records import PageSeen
from ipmicra.model.search import SearchRequest
from ipmicra.search.ranking import ranking
from ipmicra.search.tantivy import query_builder, schema
from ipmicra.search.tantivy.index import TantivyIndex


class Weights(NamedTuple):
    """As the program has them: see `fields.WEIGHTS`, `asking.NAMES_BOOST` and `ranking`."""

    title: float
    headings: float
    anchors: float
    names: float
    links: float
    authority: float


# A heading and a link's text count more than text, as the contract has it: by how much is to be found.
# Links between pages are tried down to a little, not to nothing: pages that hardly link to other sites
# cannot tell what links from there are worth.
TRIED: dict[str, tuple[float, ...]] = {
    "title": (1, 2, 3, 5),
    "headings": (1, 2, 3),
    "anchors": (1, 2, 4, 6),
    "names": (0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
    "links": (0.02, 0.05, 0.1, 0.2),
    "authority": (0.0, 0.02, 0.05, 0.1, 0.2),
}


def present() -> Weights:
    return Weights(
        **schema.WEIGHTS,
        names=query_builder.NAMES_BOOST,
        links=ranking.LINKS_WEIGHT,
        authority=ranking.AUTHORITY_WEIGHT,
    )


class Trial:
    """Questions asked under any weights, of one set of pages. Close it."""

    def __init__(self, judged: JudgedSet) -> None:
        self._judged = judged
        self._folder = tempfile.TemporaryDirectory(prefix="ipmicra-quality-")
        self.ranks = cache(self._ranks)

    def close(self) -> None:
        self._folder.cleanup()

    def _ranks(self, weights: Weights) -> tuple[int, ...]:
        """Of each question: 1 where its page comes first, 0 where it is not among the first ten."""
        with _in_force(weights):
            folder = self._index_for(weights)
            index = TantivyIndex(folder)
            try:
                return tuple(_rank(one, index) for one in self._judged.questions)
            finally:
                index.close()

    def _index_for(self, weights: Weights) -> Path:
        folder = Path(self._folder.name) / "-".join(f"{weight:g}" for weight in weights[:3])
        if not folder.exists():
            pages = self._judged.indexed
            header = PackageHeader(crawler="c", sequence=1, records=len(pages), inflated_bytes=0)
            records = [PageSeen(url=page.url, visit=1, fetched_at_ms=0, page=page) for page in pages]
            index = TantivyIndex(folder, writable=True)
            index.integrate(Package(header, list(records)), "d")
            index.commit()
            index.close()
        return folder


@contextmanager
def _in_force(weights: Weights) -> Iterator[None]:
    before = present()
    _put(weights)
    try:
        yield
    finally:
        _put(before)


def _put(weights: Weights) -> None:
    schema.WEIGHTS.update({name: int(getattr(weights, name)) for name in schema.WEIGHTS})
    query_builder.NAMES_BOOST = weights.names
    ranking.LINKS_WEIGHT, ranking.AUTHORITY_WEIGHT = weights.links, weights.authority


def _rank(one: Judged, index: TantivyIndex) -> int:
    hits = index.search(SearchRequest(text=one.question, per_site=0)).hits
    return next((rank for rank, hit in enumerate(hits, 1) if hit.url == one.url), 0)

"""How often is the page that somebody looks for among the first results, and what does each signal add?

Known-item questions made from real pages (the sets of benchmarks/extraction.py): the words of a page's
title must find that page, and what a link says must find its target. A tenth of the pages is left out of
the index, and the questions from links are theirs, so no answer rests on the link that asks. MRR and
nDCG over the first ten results, and the share of questions whose page comes first.
"""

from __future__ import annotations

import math
import random
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks.extraction import material
from ipmicra.carrier.package import Header, Package
from ipmicra.carrier.record import PageSeen
from ipmicra.crawler.extraction import Page, extract
from ipmicra.search import fields, ranking
from ipmicra.search.contract import Request
from ipmicra.search.tantivy_index import TantivyIndex

QUESTIONS_MAX = 400


class Judged(NamedTuple):
    question: str
    url: str


VARIANTS: dict[str, dict[str, float]] = {
    "as it is": {},
    "without links between pages": {"links": 0.0},
    "without authority of sites": {"authority": 0.0},
    "without both": {"links": 0.0, "authority": 0.0},
    "all fields alike": {"title": 1, "headings": 0, "anchors": 1},
    "without link texts": {"anchors": 0},
}


def main() -> None:
    for name, pages in material().items():
        found = [extract(body, "text/html", address) for address, body in pages]
        dice = random.Random(7)
        dice.shuffle(found)
        held_out, indexed = found[: len(found) // 10], found[len(found) // 10 :]
        sets = {"titles": _from_titles(indexed, dice), "links": _from_links(held_out, indexed, dice)}
        print(f"{name}: {len(indexed)} pages indexed")
        for origin, judged in sets.items():
            print(f"  {len(judged)} questions from {origin:8} {'MRR':>7} {'nDCG':>7} {'first':>7}")
            for variant, changes in VARIANTS.items() if judged else ():
                _row(variant, changes, judged, indexed)


def _row(name: str, changes: dict[str, float], judged: list[Judged], pages: list[Page]) -> None:
    weights, links, authority = dict(fields.WEIGHTS), ranking.LINKS_WEIGHT, ranking.AUTHORITY_WEIGHT
    ranking.LINKS_WEIGHT = changes.get("links", links)
    ranking.AUTHORITY_WEIGHT = changes.get("authority", authority)
    fields.WEIGHTS.update({field: int(weight) for field, weight in changes.items() if field in weights})
    folder = Path(tempfile.mkdtemp(prefix="ipmicra-quality-"))
    try:
        index = _filled(folder, pages)
        ranks = [_rank(one, index) for one in judged]
        index.close()
    finally:
        shutil.rmtree(folder)
        fields.WEIGHTS.update(weights)
        ranking.LINKS_WEIGHT, ranking.AUTHORITY_WEIGHT = links, authority
    reciprocal = sum(1 / rank for rank in ranks if rank) / len(ranks)
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank) / len(ranks)
    first = sum(rank == 1 for rank in ranks) / len(ranks)
    print(f"    {name:28} {reciprocal:7.3f} {gain:7.3f} {first:7.1%}", flush=True)


def _filled(folder: Path, pages: list[Page]) -> TantivyIndex:
    index = TantivyIndex(folder, writable=True)
    header = Header(crawler="c", sequence=1, records=len(pages), inflated_bytes=0)
    index.integrate(
        Package(header, [PageSeen(url=page.url, visit=1, fetched_at_ms=0, page=page) for page in pages]),
        "d",
    )
    index.commit()
    return index


def _from_titles(pages: list[Page], dice: random.Random) -> list[Judged]:
    """Up to six words of titles that only one page has, without the site's name behind a dash."""
    counts = Counter(page.title for page in pages)
    judged = [
        Judged(" ".join(re.findall(r"\w+", re.split(r" [|–—-] ", page.title)[0])[:6]), page.url)
        for page in pages
        if page.title and counts[page.title] == 1
    ]
    return _sample([one for one in judged if one.question], dice)


def _from_links(sources: list[Page], pages: list[Page], dice: random.Random) -> list[Judged]:
    known = {page.url for page in pages}
    judged = {
        Judged(" ".join(re.findall(r"\w+", link.text)[:6]), link.url)
        for page in sources
        for link in page.links
        if link.url in known and len(link.text.split()) >= 2
    }
    return _sample(sorted(judged), dice)


def _sample(judged: list[Judged], dice: random.Random) -> list[Judged]:
    return dice.sample(judged, min(len(judged), QUESTIONS_MAX))


def _rank(one: Judged, index: TantivyIndex) -> int:
    """1 for the first; 0 where the page is not among the first ten."""
    hits = index.search(Request(text=one.question, per_site=0)).hits
    return next((rank for rank, hit in enumerate(hits, 1) if hit.url == one.url), 0)

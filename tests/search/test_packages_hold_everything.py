"""Indexing from packages gives the answers that indexing from the HTML gives."""

from __future__ import annotations

import random
from pathlib import Path

from ipmicra.carrier.package import Package, PackageHeader, pack, unpack
from ipmicra.crawler.extraction import extract
from ipmicra.model.records import PageSeen, Record
from ipmicra.model.search import Hit, SearchRequest
from ipmicra.search.tantivy.index import TantivyIndex

WORDS = [
    "river",
    "stone",
    "bridge",
    "lantern",
    "harbour",
    "violet",
    "engine",
    "copper",
    "orbit",
    "cedar",
    "winter",
]


def little_web(seed: int, pages: int) -> list[Record]:
    dice = random.Random(seed)
    records: list[Record] = []
    for number in range(pages):
        url = f"http://s{number % 4}.example/{dice.choice(WORDS)}/{number}"
        links = "".join(
            f'<li><a href="http://s{other % 4}.example/{dice.choice(WORDS)}/{other}">{dice.choice(WORDS)}</a>'
            for other in dice.sample(range(pages), 5)
        )
        markup = (
            f"<html lang=en><title>{' '.join(dice.sample(WORDS, 3))}</title><nav><a href='/'>home</a></nav>"
            f"<h1>{dice.choice(WORDS)}</h1><p>{' '.join(dice.choices(WORDS, k=60))}</p><ul>{links}</ul>"
        )
        page = extract(markup.encode(), "text/html", url)
        records.append(PageSeen(url=url, visit=1, fetched_at_ms=number, page=page))
    return records


def answers(folder: Path, package: Package) -> dict[str, list[Hit]]:
    index = TantivyIndex(folder, writable=True)
    index.integrate(package, "digest")
    index.commit()
    questions = [
        *WORDS,
        "river stone",
        '"river stone"',
        "cedar -stone",
        "site:s1.example orbit",
        "inurl:copper",
    ]
    found = {
        text: index.search(SearchRequest(text=text, per_site=0, limit=100)).hits for text in questions
    }
    index.close()
    return found


def test_packages_and_html_give_the_same_answers(tmp_path: Path) -> None:
    records = little_web(seed=5, pages=120)
    header = PackageHeader(crawler="c", sequence=1, records=len(records), inflated_bytes=0)
    unpacked = unpack(pack(records, "c", 1))
    assert unpacked.records != records  # they arrive in another order: by site
    by_order = {record.url: record for record in unpacked.records if isinstance(record, PageSeen)}
    arrived = [by_order[record.url] for record in records if isinstance(record, PageSeen)]
    from_html = answers(tmp_path / "html", Package(header, records))
    from_packages = answers(tmp_path / "packages", Package(header, list(arrived)))
    assert from_html == from_packages
    assert sum(len(hits) for hits in from_html.values()) > 500

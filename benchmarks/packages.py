"""How many bytes go home for a byte of HTML fetched, and what does packing cost?

Takes the page sets of benchmarks/extraction.py (IPMICRA_DOCS, IPMICRA_DATA, IPMICRA_PAGES), a page of each
site in turn, as a crawl does. Packages as a spool seals them, journal and all; against plain zstd of the
HTML, of the records as MessagePack, and of the text alone, 2,000 pages at a time. Everything of a page
travels: text, title, headings, every link with its text and rel.
"""

from __future__ import annotations

import lzma
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import zstandard

from benchmarks.extraction import Material, material
from ipmicra.carrier.format.compression import LEVEL_FOR_ALIKE, LEVEL_FOR_VARIED, site_part
from ipmicra.carrier.page_delta import base_digest, delta_of
from ipmicra.carrier.spool import SealRules, Spool
from ipmicra.crawler.extraction import extract
from ipmicra.model.records import PageSeen, Record

BATCH = 2_000
COMMITTED_AT_ONCE = 200  # pages


def main() -> None:
    for name, of_sites in material().items():
        pages = _in_turn(of_sites)
        records = [
            PageSeen(
                url=address,
                visit=1,
                fetched_at_ms=700 * number,
                page=extract(body, "text/html", address),
            )
            for number, (address, body) in enumerate(pages)
        ]
        rivals = {
            "HTML": [body for _, body in pages],
            "records as MessagePack": [msgspec.msgpack.encode(record) for record in records],
            "text alone": [record.page.text.encode() for record in records],
        }
        html_bytes = sum(len(body) for _, body in pages)
        print(
            f"{name}: {len(pages)} pages, {html_bytes:,} bytes of HTML; bytes home, ratio, CPU us per page"
        )
        for which, level in (
            ("as they are sealed", 0),
            *(
                (f"level {level}", level)
                for level in sorted({3, LEVEL_FOR_ALIKE, 6, 7, 9, LEVEL_FOR_VARIED})
            ),
        ):
            _row(f"packages, {which}", html_bytes, len(pages), partial(_packed, records, level))
        for rival, pieces in rivals.items():
            for level in (3, 9):
                _row(f"{rival}, zstd {level}", html_bytes, len(pages), partial(_plain, pieces, level))
        _row("text alone, all at once, xz", html_bytes, len(pages), partial(_bound, records))
        _changes(records, html_bytes)


def _in_turn(pages: Material) -> Material:
    """The first page of each site, then the second of each."""
    numbers = Counter[str]()
    order = []
    for address, body in pages:
        site = site_part(address)
        order.append((numbers[site], site, address, body))
        numbers[site] += 1
    return [(address, body) for _, _, address, body in sorted(order)]


def _changes(records: Sequence[PageSeen], html_bytes: int) -> None:
    """Every page visited again, with one line of its text replaced: whole, and as what changed."""
    again = [_with_a_new_line(record) for record in records]
    told = [
        delta_of(new, old.page.content_hash, base_digest(old.page)) or new
        for old, new in zip(records, again, strict=True)
    ]
    for name, sent in (("whole", again), ("as what changed", told)):
        _row(
            f"a line of each changed, {name}",
            html_bytes,
            len(sent),
            partial(_packed, sent, 0),
        )
    _row(
        "  (sketches kept by the crawler)", html_bytes, len(records),
        lambda: sum(len(base_digest(record.page)) for record in records),
    )  # fmt: skip


def _with_a_new_line(record: PageSeen) -> PageSeen:
    lines = record.page.text.split("\n")
    lines[len(lines) // 2] = f"a line that was not there at visit {record.visit}"
    page = msgspec.structs.replace(
        record.page, text="\n".join(lines), content_hash=record.page.content_hash[::-1]
    )
    return msgspec.structs.replace(record, visit=record.visit + 1, page=page)


def _row(name: str, html_bytes: int, pages: int, run: Callable[[], int]) -> None:
    start = time.process_time()
    home_bytes = run()
    spent_us = (time.process_time() - start) / pages * 1e6
    print(f"  {name:34} {home_bytes:12,}   1/{html_bytes / home_bytes:5.1f}   {spent_us:7.0f}")


def _packed(records: Sequence[Record], level: int) -> int:
    with TemporaryDirectory() as folder:
        spool = Spool(Path(folder), "crawler", rules=SealRules(age_s_max=math.inf, level=level))
        for at in range(0, len(records), COMMITTED_AT_ONCE):
            spool.append(records[at : at + COMMITTED_AT_ONCE], 0.0)
            spool.seal_if_due(0.0)
        spool.seal()
        spool.close()
        return sum(package.path.stat().st_size for package in spool.waiting())


def _bound(records: Sequence[PageSeen]) -> int:
    """About the least that looking for repetitions can reach, at many times the cost."""
    texts = [record.page.text for record in sorted(records, key=lambda record: record.url)]
    return len(lzma.compress("\0".join(texts).encode(), preset=9))


def _plain(pieces: Sequence[bytes], level: int) -> int:
    compressor = zstandard.ZstdCompressor(level=level)
    batches = (b"".join(pieces[at : at + BATCH]) for at in range(0, len(pieces), BATCH))
    return sum(len(compressor.compress(batch)) for batch in batches)

"""How many bytes go home for a byte of HTML fetched, and what does packing cost?

Takes the page sets of benchmarks/extraction.py (IPMICRA_DOCS, IPMICRA_DATA, IPMICRA_PAGES). Packages of up
to 2,000 pages, as the spool seals them; against plain zstd of the HTML, of the records as MessagePack, and
of the text alone. Everything of a page travels: text, title, headings, every link with its text and rel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import zstandard

from benchmarks.extraction import material
from ipmicra.carrier.package import LEVEL_AT_LEISURE, LEVEL_IN_A_HURRY, pack
from ipmicra.carrier.record import PageSeen
from ipmicra.crawler.extraction import extract

BATCH = 2_000


def main() -> None:
    for name, pages in material().items():
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
            f"{name}: {len(pages)} pages, {html_bytes:,} bytes of HTML; bytes home, ratio, CPU us a page"
        )
        for pace, level in (("in a hurry", LEVEL_IN_A_HURRY), ("at leisure", LEVEL_AT_LEISURE)):
            _row(f"packages, {pace}", html_bytes, len(pages), partial(_packed, records, level))
        for rival, pieces in rivals.items():
            for level in (3, 9):
                _row(f"{rival}, zstd {level}", html_bytes, len(pages), partial(_plain, pieces, level))


def _row(name: str, html_bytes: int, pages: int, run: Callable[[], int]) -> None:
    start = time.process_time()
    home_bytes = run()
    spent_us = (time.process_time() - start) / pages * 1e6
    print(f"  {name:34} {home_bytes:12,}   1/{html_bytes / home_bytes:5.1f}   {spent_us:7.0f}")


def _packed(records: Sequence[PageSeen], level: int) -> int:
    batches = (records[at : at + BATCH] for at in range(0, len(records), BATCH))
    return sum(len(pack(batch, "crawler", number, level)) for number, batch in enumerate(batches, 1))


def _plain(pieces: Sequence[bytes], level: int) -> int:
    compressor = zstandard.ZstdCompressor(level=level)
    batches = (b"".join(pieces[at : at + BATCH]) for at in range(0, len(pieces), BATCH))
    return sum(len(compressor.compress(batch)) for batch in batches)

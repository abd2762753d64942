"""One process writes, another reads: what is committed is found by both, once the reader looks again."""

from __future__ import annotations

from pathlib import Path

from ipmicra.model.search import SearchRequest
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import package, seen


def test_a_reader_that_looks_again_finds_what_another_has_committed(tmp_path: Path) -> None:
    writing = TantivyIndex(tmp_path, writable=True)
    reading = TantivyIndex(tmp_path)
    asked = SearchRequest(text="otter")
    for number in (1, 2, 3):
        writing.integrate(
            *package([seen(f"http://s{number}.example/", "otter", f"otter {number}")], sequence=number)
        )
        assert len(reading.search(asked).hits) == number - 1
        writing.commit()
        reading.reload()
        assert len(reading.search(asked).hits) == number
    reading.close()
    writing.close()

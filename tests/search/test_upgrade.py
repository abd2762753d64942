"""An index that version 0.1 wrote is brought up to date when it is opened for writing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ipmicra.model.search import SearchRequest
from ipmicra.search.tantivy.index import ENGINE_FOLDER, TantivyIndex
from tests.search.worlds import package, seen


def test_an_index_of_the_version_before_is_filled_from_its_catalogue(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path, writable=True)
    index.integrate(*package([seen("http://a.example/", "Otters", "otters swim")]))
    index.commit()
    index.close()
    (tmp_path / ENGINE_FOLDER).rename(tmp_path / "engine")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as catalogue:
        catalogue.execute("DROP TABLE names")
        catalogue.execute("PRAGMA user_version = 2")
    catalogue.close()
    reader = TantivyIndex(tmp_path)  # may be first
    assert reader.page_count() == 1
    writer = TantivyIndex(tmp_path, writable=True)
    assert [hit.title for hit in writer.search(SearchRequest(text="otters")).hits] == ["Otters"]
    assert not (tmp_path / "engine").exists()
    reader.reload()
    assert reader.page_count() == 1
    reader.close()
    writer.close()

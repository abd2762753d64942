"""An index that version 0.1 wrote is brought up to date when it is opened for writing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ipmicra.model.search import SearchRequest
from ipmicra.search.tantivy.index import ENGINE_FOLDER, TantivyIndex
from ipmicra.testing.page_records import package, seen


def test_an_index_of_the_version_before_is_filled_from_its_catalogue(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path, writable=True)
    index.integrate(*package([seen("http://a.example/", "Otters", "otters swim")]))
    index.commit()
    index.close()
    (tmp_path / ENGINE_FOLDER).rename(tmp_path / "engine")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as catalogue:
        catalogue.execute("DROP TABLE page_names")
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


def test_pages_of_format_3_get_their_names_anew_when_it_is_opened_for_writing(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path, writable=True)
    records = [
        seen("http://a.example/1", "Rivers", "otters and more"),
        seen("http://b.example/2", "Otters", "a"),
    ]
    index.integrate(*package(records))
    index.commit()
    index.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as catalogue:
        catalogue.execute("DROP TABLE page_names")
        catalogue.execute("CREATE TABLE names (id INTEGER PRIMARY KEY, names BLOB NOT NULL)")
        catalogue.execute("INSERT INTO names VALUES (1, x'90')")
        catalogue.execute("PRAGMA user_version = 3")
    catalogue.close()
    writer = TantivyIndex(tmp_path, writable=True)
    names = writer.catalogue.names([1, 2])
    assert [names[identity].terms()[:1] for identity in (1, 2)] == [["t|river"], ["t|otter"]]
    writer.close()

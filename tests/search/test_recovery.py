"""An index as a power cut or a careless copy left it: opening it finds every page again."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from ipmicra.carrier.package import digest_of, pack, unpack
from ipmicra.model.search import SearchRequest
from ipmicra.search.recovery import open_or_set_aside
from ipmicra.search.tantivy.index import ENGINE_FOLDER, TantivyIndex
from ipmicra.testing.page_records import seen


def put(folder: Path, number: int, is_committed: bool = True) -> None:
    data = pack([seen(f"http://a.example/{number}", "Otters", f"otter {number}")], "c", number)
    with closing(TantivyIndex(folder, writable=True)) as index:
        index.integrate(unpack(data), digest_of(data))
        if is_committed:
            index.commit()


def found(folder: Path, fills: bool = True) -> int:
    with closing(TantivyIndex(folder, fills=fills)) as index:
        return index.search(SearchRequest(text="otter", per_site=0)).total


def test_an_engine_that_is_older_than_its_catalogue_is_filled_from_it(tmp_path: Path) -> None:
    folder, engine = tmp_path / "index", tmp_path / "index" / ENGINE_FOLDER
    put(folder, 1)
    shutil.copytree(engine, tmp_path / "older")
    put(folder, 2)
    shutil.rmtree(engine)
    shutil.copytree(tmp_path / "older", engine)
    assert found(folder, fills=False) == 1, "so a power cut could leave it"
    assert found(folder) == 2


def test_pages_of_which_the_engine_was_not_told_are_found_after_opening(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    put(folder, 1)
    put(folder, 2, is_committed=False)
    assert found(folder, fills=False) == 1
    assert found(folder) == 2
    assert open_or_set_aside(folder) is None


def test_an_index_without_a_gap_is_opened_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    put(folder, 1)
    before = (folder / ENGINE_FOLDER / "meta.json").stat().st_mtime_ns
    assert found(folder) == 1
    with closing(TantivyIndex(folder, writable=True)):
        pass
    assert (folder / ENGINE_FOLDER / "meta.json").stat().st_mtime_ns == before

"""A peer's package store: complete pages, a site's documents for its successor, and only valid packages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipmicra.carrier.package import PackageRefused, pack, unpack
from ipmicra.carrier.page_delta import base_digest, delta_of
from ipmicra.model.records import PageSeen
from ipmicra.model.search import SearchRequest
from ipmicra.overlay.live.package_store import PeerPackageStore
from tests.carrier.watched_page import page

LINES = [f"line {number} of a page that is long enough to be sent as a delta" for number in range(40)]


@pytest.fixture
def package_store(tmp_path: Path) -> Iterator[PeerPackageStore]:
    opened = PeerPackageStore(tmp_path / "one")
    yield opened
    opened.close()


def seen(url: str, visit: int, *more: str) -> PageSeen:
    found = page([*LINES, *more], links=[], url=url)
    return PageSeen(url=url, visit=visit, fetched_at_ms=1_000 * visit, page=found)


def test_a_delta_is_completed_from_the_stored_pages(package_store: PeerPackageStore) -> None:
    first, second = seen("https://a.example/", 1), seen("https://a.example/", 2, "zebra")
    package_store.store([pack([first], "me", 1)])
    change = delta_of(second, first.page.content_hash, base_digest(first.page))
    assert change is not None
    whole = package_store.complete_package(pack([change], "me", 2))
    assert unpack(whole).records == [second]


def test_a_successor_gets_the_newest_version_of_each_page_of_that_site_only(
    package_store: PeerPackageStore, tmp_path: Path
) -> None:
    records = [
        seen("https://a.example/", 1),
        seen("https://b.example/", 1),
        seen("https://a.example/x", 1),
    ]
    package_store.store(
        [pack(records, "me", 1), pack([seen("https://a.example/", 2, "zebra")], "me", 2)]
    )
    (documents,) = package_store.documents_of("https://a.example")
    assert [(r.url, r.visit) for r in unpack(documents).records if isinstance(r, PageSeen)] == [
        ("https://a.example/", 2),
        ("https://a.example/x", 1),
    ]
    successor = PeerPackageStore(tmp_path / "two")
    try:
        successor.store([documents])
        assert [hit.url for hit in successor.search(SearchRequest(text="zebra")).hits] == [
            "https://a.example/"
        ]
    finally:
        successor.close()


def test_an_invalid_package_is_refused_and_changes_nothing(package_store: PeerPackageStore) -> None:
    with pytest.raises(PackageRefused):
        package_store.store([b"something else"])
    assert package_store.page_count() == 0


def test_a_peer_whose_index_was_lost_or_damaged_searches_its_packages_again(tmp_path: Path) -> None:
    store = PeerPackageStore(tmp_path / "one")
    store.store([pack([seen(f"https://a.example/{n}", 1, "zebra")], "me", n) for n in (1, 2)])
    store.close()
    shutil.rmtree(tmp_path / "one" / "index")
    assert zebras(tmp_path / "one") == 2
    (tmp_path / "one" / "index" / "ledger.sqlite").write_bytes(b"no database at all " * 1000)
    assert zebras(tmp_path / "one") == 2


def zebras(folder: Path) -> int:
    store = PeerPackageStore(folder)
    try:
        return store.search(SearchRequest(text="zebra", per_site=0)).total
    finally:
        store.close()

"""A peer's shelf: whole pages, a site's documents for its heir, and nothing that is no package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ipmicra.carrier.package import PackageRefused, pack, unpack
from ipmicra.carrier.page_delta import change_of, sketch_of
from ipmicra.model.records import PageSeen
from ipmicra.model.search import SearchRequest
from ipmicra.overlay.live.package_store import PeerPackageStore
from tests.carrier.test_page_delta import page

LINES = [
    f"line {number} of a page that is long enough to be told by its changes" for number in range(40)
]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[PeerPackageStore]:
    opened = PeerPackageStore(tmp_path / "one")
    yield opened
    opened.close()


def seen(url: str, visit: int, *more: str) -> PageSeen:
    found = page([*LINES, *more], links=[], url=url)
    return PageSeen(url=url, visit=visit, fetched_at_ms=1_000 * visit, page=found)


def test_a_change_is_made_whole_by_what_is_on_the_shelf(shelf: PeerPackageStore) -> None:
    first, second = seen("https://a.example/", 1), seen("https://a.example/", 2, "zebra")
    shelf.put([pack([first], "me", 1)])
    change = change_of(second, first.page.content_hash, sketch_of(first.page))
    assert change is not None
    whole = shelf.whole(pack([change], "me", 2))
    assert unpack(whole).records == [second]


def test_an_heir_gets_the_newest_of_each_page_of_the_site_and_of_no_other(
    shelf: PeerPackageStore, tmp_path: Path
) -> None:
    records = [
        seen("https://a.example/", 1),
        seen("https://b.example/", 1),
        seen("https://a.example/x", 1),
    ]
    shelf.put([pack(records, "me", 1), pack([seen("https://a.example/", 2, "zebra")], "me", 2)])
    (documents,) = shelf.documents_of("https://a.example")
    assert [(r.url, r.visit) for r in unpack(documents).records if isinstance(r, PageSeen)] == [
        ("https://a.example/", 2),
        ("https://a.example/x", 1),
    ]
    heir = PeerPackageStore(tmp_path / "two")
    try:
        heir.put([documents])
        assert [hit.url for hit in heir.search(SearchRequest(text="zebra")).hits] == [
            "https://a.example/"
        ]
    finally:
        heir.close()


def test_what_is_no_package_is_refused_and_changes_nothing(shelf: PeerPackageStore) -> None:
    with pytest.raises(PackageRefused):
        shelf.put([b"something else"])
    assert shelf.page_count() == 0

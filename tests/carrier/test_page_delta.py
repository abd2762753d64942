"""A changed page is sent as a delta, restored to the last character, or refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.carrier.package import pack, unpack
from ipmicra.carrier.page_delta import (
    BaseMissing,
    apply_delta,
    base_digest,
    changed_urls,
    delta_of,
    new_links,
    resolve_all,
)
from ipmicra.model.page import Link, Page, RobotsDirectives
from ipmicra.model.records import PageChanged, PageSeen, Record
from tests.carrier.watched_page import LINES, LINKS, page


def seen(what: Page, visit: int = 2) -> PageSeen:
    return PageSeen(url=what.url, visit=visit, fetched_at_ms=visit * 1000, page=what)


def change(before: Page, after: Page) -> PageChanged:
    made = delta_of(seen(after), before.content_hash, base_digest(before))
    assert made is not None
    return made


EDITS = {
    "a line more": page([*LINES[:20], "news!", *LINES[20:]]),
    "a line less": page(LINES[:20] + LINES[21:]),
    "a line changed": page([*LINES[:5], "changed", *LINES[6:]]),
    "lines moved": page(LINES[20:] + LINES[:20]),
    "a line twice": page([*LINES, LINES[3]]),
    "another title": page(LINES, title="Other news"),
    "a link more": page(LINES, [*LINKS[:3], Link("http://b.example/", "new", "nofollow"), *LINKS[3:]]),
    "no links": page(LINES, []),
    "a date": page(LINES, title="N", modified_at_s=7, robots=RobotsDirectives(nofollow=True)),
}


@pytest.mark.parametrize("after", EDITS.values(), ids=list(EDITS))
def test_a_small_change_is_small_and_makes_the_page_again(after: Page) -> None:
    before = page(LINES)
    made = change(before, after)
    assert apply_delta(made, before) == seen(after)
    assert len(msgspec.msgpack.encode(made)) < len(msgspec.msgpack.encode(seen(after))) / 3


def test_a_page_that_is_mostly_new_goes_whole() -> None:
    after = page([line[::-1] for line in LINES])
    assert delta_of(seen(after), page(LINES).content_hash, base_digest(page(LINES))) is None


def test_a_change_travels_in_a_package_beside_whole_pages() -> None:
    before, after = page(LINES), EDITS["a line more"]
    records: list[Record] = [seen(before, 1), change(before, after)]
    unpacked = unpack(pack(records, "c", 1)).records
    assert unpacked[1] == records[1]
    first = unpacked[0]
    assert isinstance(first, PageSeen)
    assert isinstance(unpacked[1], PageChanged)
    assert apply_delta(unpacked[1], first.page) == seen(after)


def test_an_export_has_every_page_whole() -> None:
    before, after = page(LINES), EDITS["a line more"]
    lost = msgspec.structs.replace(change(before, after), url="http://a.example/lost")
    packages = [
        unpack(pack([seen(before, 1)], "c", 1)),
        unpack(pack([change(before, after), lost], "c", 2)),
    ]
    whole = [
        record for package in resolve_all(packages, changed_urls(packages)) for record in package.records
    ]
    assert whole == [seen(before, 1), seen(after), lost]


def test_without_its_base_a_change_is_refused() -> None:
    before, other = page(LINES), page(LINES[1:])
    made = change(before, EDITS["a line more"])
    for base in (None, other, EDITS["a line more"]):
        with pytest.raises(BaseMissing):
            apply_delta(made, base)


def test_what_a_sketch_mistakes_for_an_old_line_is_noticed() -> None:
    before = page(LINES)
    made = change(before, EDITS["a line more"])
    liar = msgspec.structs.replace(page([*LINES[:-1], "another last line"]), content_hash=made.base)
    with pytest.raises(BaseMissing):
        apply_delta(made, liar)


def test_new_links_can_be_read_without_the_base() -> None:
    made = change(page(LINES), EDITS["a link more"])
    assert list(new_links(made)) == [("http://b.example/", "nofollow")]


@given(
    st.lists(st.sampled_from("abcdefgh") | st.text(max_size=5), max_size=12),
    st.lists(st.sampled_from("abcdefgh") | st.text(max_size=5), max_size=12),
    st.lists(st.sampled_from(LINKS), max_size=5),
)
def test_whatever_changes_the_page_comes_out_as_it_was(
    one: list[str], other: list[str], links: list[Link]
) -> None:
    before, after = page(LINES + one), page(LINES + other, links)
    made = delta_of(seen(after), before.content_hash, base_digest(before))
    assert made is None or apply_delta(made, before) == seen(after)


@given(
    st.lists(st.tuples(st.integers(-2, 60), st.integers(-2, 60)), max_size=6),
    st.integers(-3, 90),
    st.integers(-3, 90),
)
def test_a_change_that_makes_no_sense_is_refused(
    taken: list[tuple[int, int]], headings: int, lines: int
) -> None:
    before = page(LINES)
    made = change(before, EDITS["a line more"])
    senseless = msgspec.structs.replace(made, taken=taken, headings=headings, lines=lines)
    if (taken, headings, lines) != (made.taken, made.headings, made.lines):
        with pytest.raises(BaseMissing):
            apply_delta(senseless, before)


def test_a_change_does_not_repeat_its_base_without_end() -> None:
    before = page(LINES)
    made = change(before, EDITS["a line more"])
    flood = msgspec.structs.replace(made, taken=[(0, 40)] * 6_000)
    with pytest.raises(BaseMissing, match="takes strings"):
        apply_delta(flood, before)

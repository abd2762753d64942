"""A field of a page is declared once, and everything that carries pages finds it by its name."""

from __future__ import annotations

from pathlib import Path

import msgspec
from pyarrow import parquet

from ipmicra.carrier.export import rows_of, write_parquet
from ipmicra.carrier.format.column_encoder import PackageColumns
from ipmicra.carrier.format.field_columns import FLAG_BITS, TOLD_APART
from ipmicra.carrier.package import pack, unpack
from ipmicra.carrier.page_delta import CARRIED
from ipmicra.carrier.ranges import PAGE_RANGES
from ipmicra.model.page import PAGE_FIELDS, Page, RobotsDirectives, Travel, fields_by
from ipmicra.model.records import PageChanged, PageSeen
from ipmicra.search.catalogue.page_codec import HitFields, hit_fields_decoder

FULL = Page(url="http://a.example/", published_at_s=1, modified_at_s=2, body_bytes=3)


def names_of(struct: type[msgspec.Struct]) -> list[str]:
    return [field.name for field in msgspec.structs.fields(struct)]


def test_every_field_of_a_page_says_how_it_travels() -> None:
    assert list(PAGE_FIELDS) == names_of(Page)


def test_a_package_has_a_column_for_every_field_that_wants_one() -> None:
    names = fields_by(Travel.NAME)
    wanted = {
        *fields_by(Travel.COLUMN),
        *(f"{name}s" for name in names),
        *(f"page_{name}s" for name in names),
    }
    assert wanted <= set(names_of(PackageColumns))


def test_every_flag_has_a_bit_of_its_own() -> None:
    flags = {*fields_by(Travel.FLAG), *RobotsDirectives._fields} - {"robots"}
    assert set(FLAG_BITS) == flags
    bits = [*FLAG_BITS.values(), TOLD_APART]
    assert all(bit.bit_count() == 1 for bit in bits)
    assert len(set(bits)) == len(bits)


def test_a_change_carries_every_field_that_is_not_among_its_strings() -> None:
    assert set(CARRIED) <= set(names_of(PageChanged))


def test_a_hit_shows_fields_of_the_page_only() -> None:
    assert set(HitFields.__annotations__) <= set(PAGE_FIELDS)


def test_every_number_of_a_page_has_a_range_and_a_delta_has_it_too() -> None:
    numbers = {
        name for name in names_of(Page) if isinstance(getattr(FULL, name), int) and name != "truncated"
    }
    assert set(PAGE_RANGES) == numbers
    assert set(PAGE_RANGES) <= set(names_of(PageChanged))


def test_an_export_has_every_field_of_a_page(tmp_path: Path) -> None:
    record = PageSeen(url=FULL.url, visit=1, fetched_at_ms=1, page=FULL)
    package = unpack(pack([record], "athens", 1))
    [row] = rows_of(package)
    assert set(PAGE_FIELDS) <= set(row)
    write_parquet([package], tmp_path / "pages.parquet")
    assert set(parquet.read_schema(tmp_path / "pages.parquet").names) == set(row)


class LaterPage(Page, frozen=True, kw_only=True, array_like=True):
    """A page of a version to come."""

    reading_minutes: int | None = None
    authors: list[str] = msgspec.field(default_factory=list)


def test_a_field_added_to_the_page_reaches_the_hit_by_its_name() -> None:
    decode = hit_fields_decoder(LaterPage, [*HitFields.__annotations__, "reading_minutes", "authors"])
    later = LaterPage(url="http://a.example/", title="A", reading_minutes=7, authors=["Ada"])
    shown = decode(msgspec.msgpack.encode(later))
    assert (shown.title, shown.reading_minutes, shown.authors) == ("A", 7, ["Ada"])  # type: ignore[attr-defined]


def test_a_page_stored_before_the_field_was_added_shows_the_default() -> None:
    decode = hit_fields_decoder(LaterPage, [*HitFields.__annotations__, "reading_minutes", "authors"])
    shown = decode(msgspec.msgpack.encode(Page(url="http://a.example/", title="A")))
    assert (shown.title, shown.reading_minutes, shown.authors) == ("A", None, [])  # type: ignore[attr-defined]

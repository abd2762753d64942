"""Ranges of addresses: parsing, the half-open convention, and how two ranges can lie."""

from __future__ import annotations

import ipaddress

import pytest

from ipmicra.addresses import AddressRange, gaps_between


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.0/24", AddressRange(4, 0xC0000200, 0xC0000300)),
        ("192.0.2.0 - 192.0.2.9", AddressRange(4, 0xC0000200, 0xC000020A)),
        ("192.0.2.7", AddressRange(4, 0xC0000207, 0xC0000208)),
        ("0.0.0.0/0", AddressRange.whole(4)),
        ("::/0", AddressRange.whole(6)),
        ("2001:db8::/32", AddressRange(6, 0x20010DB8 << 96, 0x20010DB9 << 96)),
    ],
)
def test_a_range_is_read_and_written_in_its_usual_forms(text: str, expected: AddressRange) -> None:
    assert AddressRange.parse(text) == expected
    assert AddressRange.parse(str(expected)) == expected


@pytest.mark.parametrize(
    "text", ["", "192.0.2.1/24", "192.0.2.9 - 192.0.2.0", "192.0.2.0 - ::1", "300.0.0.1", "a - b"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        AddressRange.parse(text)


def test_the_end_is_not_in_the_range() -> None:
    subnet = AddressRange.parse("192.0.2.0/24")
    assert subnet.holds(ipaddress.ip_address("192.0.2.255"))
    assert not subnet.holds(ipaddress.ip_address("192.0.3.0"))
    assert not subnet.holds(ipaddress.ip_address("::1"))


def test_ranges_enclose_overlap_or_pass_each_other() -> None:
    outer, inner = AddressRange.parse("10.0.0.0/8"), AddressRange.parse("10.1.0.0/16")
    crossing = AddressRange.parse("10.255.0.0 - 11.0.0.255")
    assert outer.encloses(inner)
    assert not inner.encloses(outer)
    assert outer.overlaps(crossing)
    assert not outer.encloses(crossing)
    assert not crossing.encloses(outer)
    assert not inner.overlaps(crossing)


def test_a_range_that_is_no_block_is_written_by_its_ends_and_divides_into_blocks() -> None:
    odd = AddressRange.parse("192.0.2.1 - 192.0.2.6")
    assert str(odd) == "192.0.2.1 - 192.0.2.6"
    assert [str(block) for block in odd.blocks()] == [
        "192.0.2.1/32",
        "192.0.2.2/31",
        "192.0.2.4/31",
        "192.0.2.6/32",
    ]


def test_the_gaps_between_ranges_are_all_the_rest() -> None:
    ranges = [AddressRange.parse(text) for text in ("128.0.0.0/1", "10.0.0.0/8", "10.1.0.0/16")]
    assert [str(gap) for gap in gaps_between(ranges, 4)] == [
        "0.0.0.0 - 9.255.255.255",
        "11.0.0.0 - 127.255.255.255",
    ]
    assert list(gaps_between(ranges, 6)) == [AddressRange.whole(6)]

"""Any bytes -> each record is read, passed over or counted as malformed; there is no other outcome."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ipmicra.hierarchy.build import build_tree
from ipmicra.registry.decompression import DAMAGE, decompressed
from ipmicra.registry.files import read_stream
from ipmicra.registry.formats import (
    ARIN_XML,
    DELEGATED,
    FORMATS,
    LIBLOC_NETWORKS,
    Format,
    format_of,
)
from ipmicra.registry.organisation_join import allocations_of
from ipmicra.registry.parsers import blocks, keyed_objects
from ipmicra.registry.parsers.accumulator import Accumulator, Organisation
from ipmicra.registry.parsers.blocks import Block
from ipmicra.registry.parsers.delegated import DelegatedParser
from ipmicra.registry.parsers.keyed_objects import KeyedParser
from ipmicra.registry.parsers.plain_objects import PlainObjects
from ipmicra.registry.parsers.routed import NetworksParser
from ipmicra.registry.sample_world import sample_folder
from tests.registry.conftest import read_texts, rows_of

SAMPLES = [path.read_bytes() for path in sorted(sample_folder().iterdir())] + [
    b"1.0.0.0/8\t\tAU\n1.0.0.0/24\t13335\tAU\n2001:db8::/32\t64500\t\n" * 3,
    b"13335\tCLOUDY\n64500\tExample\n" * 3,
    b'1.0.0.0,1.0.0.255,13335,"Cloudy, ""Big"" Inc."\n2001::,2001::ffff,6939,Hurricane\n' * 3,
    b"<net><startAddress>1.0.0.0</startAddress><endAddress>1.0.0.9</endAddress></net>"
    b"<org><handle>A</handle><name>B &amp; C</name></org>\n" * 3,
]
TELLING = b'|:/-.,\t\n\r#%+ <>&"0129afzAZ\xff\x00'


@st.composite
def mutated_samples(draw: st.DrawFn) -> bytes:
    """A sample with pieces cut out, doubled, and bytes overwritten."""
    text = bytearray(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(1, 12))):
        place = draw(st.integers(0, len(text)))
        match draw(st.sampled_from(["cut", "double", "write", "insert"])):
            case "cut":
                del text[place : place + draw(st.integers(1, 40))]
            case "double":
                text[place:place] = text[place : place + draw(st.integers(1, 200))]
            case "write":
                text[place : place + 1] = bytes([draw(st.sampled_from(TELLING))])
            case _:
                text[place:place] = draw(st.binary(max_size=8))
    return bytes(text)


def check_that_everything_is_accounted_for(text: bytes, form: Format) -> None:
    found = read_texts(text, form=form)
    tally = found.tally
    assert tally.records == tally.read + tally.passed_over.total() + tally.malformed.total()
    nothing = not text.strip() or (form is ARIN_XML and text.strip()[:1] == b"<")
    assert tally.records > 0 or nothing
    for kind, examples in tally.examples.items():
        assert 0 < len(examples) <= tally.malformed[kind]
        assert all(1 <= shown.line <= text.count(b"\n") + 1 for shown in examples)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@settings(max_examples=40, deadline=None)
@given(text=st.binary(max_size=400))
@example(text=b"\n\n\n")
@example(text=b"\r")
@example(text=b"inetnum:\n\n:\n\n")
@example(text=b"||||||||\n|")
def test_any_bytes_are_accounted_for(form: Format, text: bytes) -> None:
    check_that_everything_is_accounted_for(text, form)


@settings(max_examples=150, deadline=None)
@given(text=mutated_samples(), form=st.sampled_from(FORMATS))
def test_mutated_samples_are_accounted_for_in_their_own_and_any_other_format(
    text: bytes, form: Format
) -> None:
    check_that_everything_is_accounted_for(text, form)
    own = format_of(text, "sample")
    if own is not None:
        check_that_everything_is_accounted_for(text, own)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(mutated_samples(), max_size=4))
def test_whatever_was_read_makes_a_tree(texts: list[bytes]) -> None:
    gathering = Accumulator()
    for text in texts:
        read_stream(io.BytesIO(text), "f", format_of(text, "f") or DELEGATED, gathering)
    allocations = allocations_of(gathering)
    built = build_tree(allocations)
    assert len(built.tree) == len(allocations) - built.tally.duplicates + 2


@settings(max_examples=100, deadline=None)
@given(text=mutated_samples(), block_bytes=st.integers(1, 300))
def test_where_blocks_are_cut_changes_nothing(text: bytes, block_bytes: int) -> None:
    form = format_of(text, "f") or DELEGATED
    whole = read_texts(text, form=form)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", block_bytes)
        pieces = read_texts(text, form=form)
    assert sorted(pieces.allocations) == sorted(whole.allocations)
    assert pieces.tally.malformed == whole.tally.malformed
    assert {
        kind: {shown.line for shown in shown_of} for kind, shown_of in pieces.tally.examples.items()
    } == {kind: {shown.line for shown in shown_of} for kind, shown_of in whole.tally.examples.items()}


FIELDS = [
    st.sampled_from([b"arin", b"ripencc", b"ARIN", b"", b"nobody"]),
    st.sampled_from([b"US", b"us", b"", b"ZZ", b"U", b"USA", b"1A"]),
    st.sampled_from([b"ipv4", b"ipv6", b"asn", b"IPV4", b"ipv5", b""]),
    st.sampled_from(
        (
            *(
                b"1.2.3.4",
                b"255.255.255.255",
                b"01.2.3.4",
                b"1.2.3",
                b"1.2.3.4.5",
                b"256.1.1.1",
                b"1..2.3",
            ),
            *(b"2001:db8::", b"::", b"2001:db8::%1", b"1::2::3", b"::ffff:1.2.3.4", b" 1.2.3.4", b""),
        )
    ),
    st.sampled_from(
        [b"1", b"256", b"0", b"32", b"129", b"99999999999", b"-1", b"x", b"", b"004", b"128"]
    ),
    st.just(b"20200101"),
    st.sampled_from(
        [b"allocated", b"assigned", b"reserved", b"available", b"Allocated", b"allocatee", b""]
    ),
    st.sampled_from([b"", b"abc", b"def|x"]),
]


@settings(max_examples=150, deadline=None)
@given(lines=st.lists(st.tuples(*FIELDS).map(b"|".join), min_size=1, max_size=8))
def test_arrays_say_of_delegated_lines_what_line_by_line_reading_says(lines: list[bytes]) -> None:
    by_arrays, by_line = Accumulator(), Accumulator()
    DelegatedParser(by_arrays, "f").parse(Block(b"\n".join(lines) + b"\n", 1))
    slow = DelegatedParser(by_line, "f")
    for number, line in enumerate(lines, 1):
        slow.read_line(line, number)
    check_equal(by_arrays, by_line)


PREFIXES = st.sampled_from(
    (
        *(b"1.0.0.0/8", b"1.0.0.1/8", b"1.0.0.0/33", b"1.0.0.0", b"2001:db8::/32", b"2001:db8::/129"),
        *(
            b"2001:db8::1/64",
            b"0.0.0.0/0",
            b"1/8",
            b"x/8",
            b"/8",
            b"::1/128",
            b"1.0.0.0/08",
            b"8000::/1",
        ),
    )
)
AS_NUMBERS = st.sampled_from(
    [b"", b"1", b"4294967295", b"4294967296", b"x", b"-1", b" 7", b"00000000001"]
)
COUNTRIES = st.sampled_from([b"", b"DE", b"de", b"ZZ", b"D", b"DEU", b"DE\tx", b"D/E"])


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(st.tuples(PREFIXES, AS_NUMBERS, COUNTRIES).map(b"\t".join), min_size=1, max_size=8)
)
def test_arrays_say_of_networks_what_line_by_line_reading_says(lines: list[bytes]) -> None:
    by_arrays, by_line = Accumulator(), Accumulator()
    NetworksParser(by_arrays, "f").parse(Block(b"\n".join(lines) + b"\n", 1))
    slow = NetworksParser(by_line, "f")
    for number, line in enumerate(lines, 1):
        slow.read_line(line, number)
    check_equal(by_arrays, by_line)


OBJECT_LINES = st.sampled_from(
    (
        *(b"inetnum: 192.0.2.0 - 192.0.2.255", b"inetnum:        1.2.3.4 - 1.2.3.4"),
        *(b"inetnum: 1.2.3.4-1.2.3.9", b"inetnum:\t1.2.3.4  -  1.2.3.9", b"inetnum: 9.9.9.9 - 1.1.1.1"),
        *(b"inetnum: 1.2.3.0/24", b"inetnum:", b"inetnum: 1.2.3.4 - 1.2.3.9 # note", b"inetnum-up: x-y"),
        *(b"inetnum: 01.2.3.4 - 1.2.3.9", b"inet6num: 2001:db8::/32", b"Inetnum: 1.2.3.0 - 1.2.3.1"),
        *(
            b"descr:   ",
            b"descr: A - B",
            b"netname: N",
            b"-",
            b"org: ORG-1 # x",
            b"org:",
            b"country: de",
        ),
        *(b"country: FR", b"country:   ", b"status:  ASSIGNED PA", b"source: RIPE # Filtered"),
        *(b"source: RIPE", b"Source: APNIC", b" continued", b"+", b"# remark", b"", b"", b""),
        *(b"% remark", b"person: X", b"organisation: ORG-1", b"org-name: One", b"org-name: Two "),
        *(b"organisation: ORG-1", b"organisation:   ORG-2 # x", b"organisation:", b"organisations: X"),
        *(b"inet6num:       2001:db8::/32", b"inet6num: 2001:db8::1/32", b"inet6num: ::/0 # all"),
        *(b"inet6num: 2001:db8::/129", b"inet6num: ::1 - ::9", b"inet6num: 1.2.3.0/24", b"inet6num: /8"),
    )
)


@settings(max_examples=250, deadline=None)
@given(lines=st.lists(OBJECT_LINES, min_size=1, max_size=14))
@example(
    lines=[b"inetnum: 192.0.2.0 - 192.0.2.255", b"descr: A", b"source: RIPE", b"", b"inetnum: x", b""]
)
@example(
    lines=[b"inet6num: 2001:db8::/32", b"org: ORG-1", b"source: RIPE", b"inetnum: 1.2.3.4 - 1.2.3.9"]
)
@example(
    lines=[
        *(b"organisation: ORG-1", b"Org-Name: Slow", b"", b"organisation: ORG-1", b"org-name: Fast"),
        *(b"source: RIPE", b"", b"organisation: ORG-2", b"org-name: A", b" B", b"source: RIPE"),
    ]
)
def test_arrays_say_of_rpsl_objects_what_reading_one_by_one_says(lines: list[bytes]) -> None:
    by_arrays, by_object = Accumulator(), Accumulator()
    KeyedParser(keyed_objects.RPSL, by_arrays, "f").parse(Block(b"\n".join(lines) + b"\n\n", 1))
    slow = KeyedParser(keyed_objects.RPSL, by_object, "f")
    number = 1
    for text in (b"\n".join(lines) + b"\n\n").split(b"\n\n"):
        begin = len(text) - len(text.lstrip(b"\n"))
        if text.strip(b"\n"):
            slow.read_object(text.strip(b"\n"), number + begin)
        number += text.count(b"\n") + 2
    check_equal(by_arrays, by_object)


def test_plain_objects_of_every_class_are_taken_by_arrays() -> None:
    text = (
        b"inetnum: 192.0.2.0 - 192.0.2.255\nsource: RIPE\n\n"
        b"inet6num:       2001:db8::/32\nnetname: N\nsource: RIPE\n\n"
        b"organisation:   ORG-1\norg-name: One\nsource: RIPE\n\n"
    )
    gathering = Accumulator()
    assert list(PlainObjects(gathering).take(text)) == []
    assert gathering.tally.read == 3
    assert gathering.organisations == {b"ORG-1": Organisation(b"One", b"")}


def check_equal(one: Accumulator, other: Accumulator) -> None:
    assert sorted(rows_of(allocations_of(one))) == sorted(rows_of(allocations_of(other)))
    assert one.organisations == other.organisations
    assert +one.tally.passed_over == +other.tally.passed_over
    assert one.tally.malformed == other.tally.malformed
    assert one.tally.examples == other.tally.examples


@settings(max_examples=150, deadline=None)
@given(start=st.sampled_from([b"\x1f\x8b\x08\x00", b"BZh9", b"\x28\xb5\x2f\xfd", b""]), rest=st.binary())
def test_any_compressed_bytes_are_read_or_damaged(start: bytes, rest: bytes) -> None:
    gathering = Accumulator()
    try:
        contents = decompressed(io.BytesIO(start + rest))
    except DAMAGE as error:
        raise AssertionError("opening must not read") from error
    read_stream(contents, "f", LIBLOC_NETWORKS, gathering)
    assert gathering.tally.malformed["damaged-file"] <= 1

"""The file of the tree: what goes in comes out, and what is not whole is refused."""

from __future__ import annotations

import os
import resource
import signal
import struct
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ipmicra.addresses import AddressRange
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.hierarchy import Allocation, Allocations, SubnetTree, build_tree
from ipmicra.hierarchy.columns import TreeColumns
from ipmicra.registry import treefile
from ipmicra.registry.treefile import TreeFileRefused, open_tree, write_tree

KERNEL_READS_AROUND_BYTES = 128 << 10  # a touched page of a mapped file brings its neighbours


def tree_of(*texts: str) -> SubnetTree:
    allocations = Allocations()
    for number, text in enumerate(texts):
        record = Allocation(
            AddressRange.parse(text),
            f"H{number}",
            f"Näme {number}",
            "DE",
            "ripencc",
            "assigned",
            "test",
            number,
        )
        allocations.append(record)
    return build_tree(allocations).tree


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state" / "tree"
    write_tree(path, tree_of("10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"), {"records": 3})
    return path


def test_what_was_written_is_read(path: Path) -> None:
    written, (read, about) = tree_of("10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"), open_tree(path)
    assert about == {"records": 3}
    for field in fields(TreeColumns):
        expected, found = getattr(written.columns, field.name), getattr(read.columns, field.name)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    subnet = read.smallest_of_text("2001:db8::5")
    assert read.organisation_name(read.organisation_of(subnet)) == "Näme 2"
    assert (read.country_of(subnet), read.asn_of(subnet)) == ("DE", 2)


def test_the_tree_of_nothing_is_written_and_read(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", tree_of(), {})
    assert len(open_tree(tmp_path / "tree").tree) == 2


def test_every_damaged_byte_of_preamble_and_header_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    header_bytes = struct.unpack_from("<Q", whole, len(treefile.MAGIC) + 4)[0]
    places = range(0, treefile.PREAMBLE.size + header_bytes, 7)
    assert [place for place in places if opens(path, flipped(whole, place))] == []


def test_a_damaged_byte_of_any_section_is_noticed_and_the_section_named(path: Path) -> None:
    whole = path.read_bytes()
    header_bytes = struct.unpack_from("<Q", whole, len(treefile.MAGIC) + 4)[0]
    begin = -(-(treefile.PREAMBLE.size + header_bytes) // 64) * 64
    header = msgspec.json.decode(
        whole[treefile.PREAMBLE.size :][:header_bytes], type=treefile.TreeFileHeader
    )
    for section in header.sections:
        for within in {0, section.size_bytes // 2, section.size_bytes - 1} if section.count else set():
            path.write_bytes(flipped(whole, begin + section.offset + within))
            with pytest.raises(TreeFileRefused, match=section.name):
                open_tree(path, checks_every_byte=True)


def test_every_cut_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    sizes = [0, 1, 27, 28, 29, 1000, *range(2000, len(whole), 9999), len(whole) - 1]
    assert [size for size in sizes if opens(path, whole[:size])] == []
    assert not opens(path, whole + b"\0")


def test_a_cut_and_a_damaged_header_are_called_damage(path: Path) -> None:
    whole = path.read_bytes()
    for content in (whole[:-1], flipped(whole, treefile.PREAMBLE.size + 5)):
        path.write_bytes(content)
        with pytest.raises(TreeFileRefused, match="damaged"):
            open_tree(path)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the kernel does not tell")
def test_opening_reads_no_page_of_the_sections_unless_every_byte_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "tree"
    write_tree(path, tree_of(*(f"10.{n // 256}.{n % 256}.0/24" for n in range(20_000))), {})
    mapped = open_tree(path)
    assert resident_bytes(path) <= KERNEL_READS_AROUND_BYTES < path.stat().st_size // 4
    del mapped
    checked = open_tree(path, checks_every_byte=True)
    assert resident_bytes(path) > path.stat().st_size * 0.9
    assert len(checked.tree) == 20_002


def resident_bytes(path: Path) -> int:
    """How much of the file is mapped to memory in this process."""
    maps = Path("/proc/self/smaps").read_text().split("VmFlags:")
    return sum(
        int(line.split()[1]) << 10
        for one in maps
        if str(path) in one
        for line in one.splitlines()
        if line.startswith("Rss:")
    )


def opens(path: Path, content: bytes) -> bool:
    path.write_bytes(content)
    try:
        open_tree(path)
    except TreeFileRefused:
        return False
    return True


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :]


def test_a_newer_file_is_refused_by_its_version(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    struct.pack_into("<I", whole, len(treefile.MAGIC), treefile.VERSION + 1)
    path.write_bytes(whole)
    with pytest.raises(TreeFileRefused, match=r"format version 2.*reads version 1; upgrade ipmicra"):
        open_tree(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"ipmicra tree", bytes(1000)])
def test_what_is_no_tree_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tree").write_bytes(content)
    with pytest.raises(TreeFileRefused):
        open_tree(tmp_path / "tree")


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="ipmicra registry build"):
        open_tree(tmp_path / "tree")


def test_an_open_tree_stays_as_it_was_while_the_file_is_replaced(path: Path) -> None:
    old = open_tree(path).tree
    write_tree(path, tree_of("11.0.0.0/8"), {})
    assert str(old.range_of(old.smallest_of_text("10.1.2.3"))) == "10.1.0.0/16"
    new = open_tree(path).tree
    assert new.smallest_of_text("10.1.2.3") == new.root(4)


class Interrupting(Mapping[str, object]):
    """What the writer is given to say, of which asking comes to the user's Ctrl-C."""

    def __getitem__(self, key: str) -> object:
        raise KeyError(key)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[str]:
        signal.raise_signal(signal.SIGINT)
        return iter(())


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(path: Path) -> None:
    # A shell's background jobs are born deaf to Ctrl-C: listen, wherever the tests are run.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            write_tree(path, tree_of("11.0.0.0/8"), Interrupting())
    finally:
        signal.signal(signal.SIGINT, before)
    assert open_tree(path).about == {"records": 3}
    assert [file.name for file in path.parent.iterdir()] == ["tree"]


def test_what_the_disk_did_not_keep_never_replaces_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(descriptor: int) -> None:
        os.pwrite(descriptor, b"\xff" * 64, os.fstat(descriptor).st_size // 2)

    monkeypatch.setattr(os, "fsync", forget)
    with pytest.raises(HostFault, match=r"does not match its checksum.*old tree"):
        write_tree(path, tree_of("11.0.0.0/8"), {})
    assert open_tree(path).about == {"records": 3}
    assert [file.name for file in path.parent.iterdir()] == ["tree"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(path: Path) -> None:
    """The disk is full after 1,000 bytes: the limit on a file's size stands in for it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(HostFault, match="old tree"):
            write_tree(path, tree_of("11.0.0.0/8"), {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert open_tree(path).about == {"records": 3}
    assert [file.name for file in path.parent.iterdir()] == ["tree"]

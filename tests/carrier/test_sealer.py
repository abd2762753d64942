"""Sealing beside the crawl: the crawl does not wait for it, and a kill in the middle of it loses nothing."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from ipmicra.carrier.format.compression import LEVEL_FOR_ALIKE, LEVEL_FOR_VARIED, level_for
from ipmicra.carrier.package import PackageFile, digest_of, pack, package_name, unpack
from ipmicra.carrier.sealer import Sealer
from ipmicra.carrier.spool import FullJournal, SealRules, Spool
from ipmicra.errors import HostFault
from ipmicra.model.page import Page
from ipmicra.model.records import PageGone, PageSeen, Record

AT_ONCE = SealRules(records_max=2)


def gone(number: int) -> PageGone:
    return PageGone(url=f"http://a.example/{number}", visit=1, fetched_at_ms=number, status=404)


def seen(site: int, number: int) -> PageSeen:
    url = f"http://s{site}.example/{number}"
    return PageSeen(url=url, visit=1, fetched_at_ms=0, page=Page(url=url))


def records_in(spool: Spool) -> list[Record]:
    return [
        record for package in spool.waiting() for record in unpack(package.path.read_bytes()).records
    ]


def test_the_next_journal_takes_records_while_the_last_is_being_packed(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "c", rules=AT_ONCE)
    spool.append([gone(1), gone(2)], 0.0)
    full = spool.rotate_if_due(0.0)
    assert full is not None
    spool.append([gone(3)], 0.0)
    assert spool.waiting() == []
    spool.pack_journal(full)
    assert records_in(spool) == [gone(1), gone(2)]
    assert spool.unsealed == 1
    spool.close()


@pytest.mark.parametrize("appended_since", [0, 1])
def test_a_journal_that_was_left_is_packed_at_the_next_opening(
    tmp_path: Path, appended_since: int
) -> None:
    spool = Spool(tmp_path, "c", rules=AT_ONCE)
    committed = spool.append([gone(1), gone(2)], 0.0)
    spool.rotate_if_due(0.0)
    spool.append([gone(3)] * appended_since, 0.0)  # not committed: forgotten, and fetched again
    spool.close()  # as if it had died before packing
    reopened = Spool(tmp_path, "c", committed)
    assert records_in(reopened) == [gone(1), gone(2)]
    assert (reopened.unsealed, reopened.position.sequence) == (0, 2)
    reopened.close()
    assert [path.name for path in tmp_path.glob("journal-*")] == ["journal-2"]


def test_a_package_that_was_acknowledged_before_its_journal_went_is_not_made_again(
    tmp_path: Path,
) -> None:
    spool = Spool(tmp_path, "c", rules=AT_ONCE)
    committed = spool.append([gone(1), gone(2)], 0.0)
    journal = (tmp_path / "journal-1").read_bytes()
    package = spool.seal()
    assert package is not None
    (tmp_path / "journal-1").write_bytes(journal)  # the thread has not come to it yet
    spool.acknowledge(package)
    spool.close()
    reopened = Spool(tmp_path, "c", committed._replace(sequence=2, journal_bytes=0))
    assert reopened.waiting() == []
    reopened.close()


class SlowSpool(Spool):
    """Packs when it is let."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "c", rules=AT_ONCE)
        self.let = threading.Event()

    def pack_journal(self, full: FullJournal) -> PackageFile:
        self.let.wait(10)
        return super().pack_journal(full)


def test_who_wants_everything_sealed_waits_for_the_journal_that_is_being_packed(tmp_path: Path) -> None:
    async def story() -> None:
        spool = SlowSpool(tmp_path)
        sealer = Sealer(spool)
        spool.append([gone(1), gone(2)], 0.0)
        assert sealer.seal_if_due(0.0) == 0
        spool.append([gone(3)], 0.0)
        sealing = asyncio.ensure_future(sealer.seal())
        await asyncio.sleep(0)
        assert not sealing.done()
        spool.let.set()
        assert await sealing == 2
        assert records_in(spool) == [gone(1), gone(2), gone(3)]
        assert await sealer.seal() == 0
        sealer.close()
        spool.close()

    asyncio.run(story())


def test_a_sealer_packs_in_order_and_finishes_everything(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "c", rules=AT_ONCE)
    sealer = Sealer(spool)
    finished = 0
    for number in range(9):
        spool.append([gone(2 * number), gone(2 * number + 1)], 0.0)
        finished += sealer.seal_if_due(0.0)
    finished += sealer.finish()
    assert finished == len(spool.waiting()) > 1
    assert records_in(spool) == [gone(number) for number in range(18)]
    spool.close()


def test_what_goes_wrong_while_packing_is_heard_of(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "c", rules=AT_ONCE)
    sealer = Sealer(spool)
    spool.append([gone(1), gone(2)], 0.0)
    name = package_name(1, digest_of(pack([gone(1), gone(2)], "c", 1)))
    (tmp_path / f".{name}.unfinished").mkdir()  # in its way
    sealer.seal_if_due(0.0)
    with pytest.raises(IsADirectoryError):
        sealer.finish()
    spool.close()


@pytest.mark.parametrize(
    ("urls", "level"),
    [
        ([f"http://a.example/{number}" for number in range(20)], LEVEL_FOR_ALIKE),
        ([f"http://s{number % 2}.example/{number}" for number in range(20)], LEVEL_FOR_ALIKE),
        ([f"http://s{number}.example/" for number in range(20)], LEVEL_FOR_VARIED),
        (["no address"] * 10, LEVEL_FOR_ALIKE),
        ([], LEVEL_FOR_VARIED),
    ],
)
def test_how_hard_is_compressed_depends_on_the_pages_alone(urls: list[str], level: int) -> None:
    assert level_for(urls) == level


def test_a_journal_becomes_the_package_that_its_records_would_make(tmp_path: Path) -> None:
    records: list[Record] = [seen(3, 1), gone(1), seen(1, 2), seen(1, 1), gone(2)]
    spool = Spool(tmp_path, "c")
    spool.append(records[:2], 0.0)
    spool.append(records[2:], 0.0)
    spool.seal()
    (package,) = spool.waiting()
    data = package.path.read_bytes()
    spool.close()
    sealed, packed = unpack(data), unpack(pack(records, "c", 1))
    assert package.digest == digest_of(data)
    assert sealed.records == packed.records
    # what the compressor was told to expect differs, and so may its frame
    assert replace(sealed.header, frame_crc=0) == replace(packed.header, frame_crc=0)


def test_a_journal_that_a_disk_has_changed_is_the_hosts_fault(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "c", rules=AT_ONCE)
    spool.append([seen(1, 1), seen(1, 2)], 0.0)
    full = spool.rotate_if_due(0.0)
    assert full is not None
    (tmp_path / "journal-1").write_bytes(b"\xc1" * 500)
    with pytest.raises(HostFault, match="not as it was written"):
        spool.pack_journal(full)
    assert spool.waiting() == []
    spool.close()

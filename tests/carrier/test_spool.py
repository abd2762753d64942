"""The spool: appended, committed, sealed, acknowledged; and the process may die between any two."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ipmicra.carrier.package import digest_of, unpack
from ipmicra.carrier.spool import SealRules, Spool, SpoolPosition
from ipmicra.errors import HostFault
from ipmicra.model.page import Page
from ipmicra.model.records import PageGone, PageSeen, Record


def gone(number: int) -> PageGone:
    return PageGone(url=f"http://a.example/{number}", visit=1, fetched_at_ms=number, status=404)


def sealed_records(folder: Path) -> list[Record]:
    spool = Spool(folder, "crawler-1")
    spool.seal()
    records = [record for package in spool.waiting() for record in unpack(package.path.read_bytes())[1]]
    spool.close()
    return records


def test_records_come_out_in_the_order_in_which_they_went_in(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "crawler-1")
    spool.append([gone(1), gone(2)], now_s=0.0)
    spool.append([gone(3)], now_s=1.0)
    package = spool.seal()
    spool.close()
    assert package is not None
    data = package.path.read_bytes()
    header, records = unpack(data)
    assert records == [gone(1), gone(2), gone(3)]
    assert (header.crawler, header.sequence, header.records) == ("crawler-1", 1, 3)
    assert package.digest == digest_of(data)


def test_what_was_appended_but_not_committed_is_forgotten_at_opening(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "crawler-1")
    committed = spool.append([gone(1)], now_s=0.0)
    spool.append([gone(2)], now_s=0.0)
    spool.close()
    reopened = Spool(tmp_path, "crawler-1", committed)
    assert (reopened.unsealed, reopened.position) == (1, committed)
    reopened.close()
    assert sealed_records(tmp_path) == [gone(1)]


def test_a_sealed_package_is_neither_sealed_again_nor_forgotten(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "crawler-1")
    committed = spool.append([gone(1)], now_s=0.0)
    journal = (tmp_path / "journal-1").read_bytes()
    spool.seal()
    spool.close()
    (tmp_path / "journal-2").unlink()
    (tmp_path / "journal-1").write_bytes(journal)  # as if it had died between the two
    reopened = Spool(tmp_path, "crawler-1", committed)
    assert (reopened.position, reopened.unsealed) == (SpoolPosition(2, 0), 0)
    reopened.close()
    assert sealed_records(tmp_path) == [gone(1)]


def test_sequence_numbers_go_on_after_every_package_was_acknowledged(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "crawler-1")
    spool.append([gone(1)], now_s=0.0)
    package = spool.seal()
    assert package is not None
    spool.acknowledge(package)
    spool.acknowledge(package)
    spool.close()
    reopened = Spool(tmp_path, "crawler-1", SpoolPosition(1, 10))
    assert (reopened.waiting(), reopened.position) == ([], SpoolPosition(2, 0))
    reopened.close()


def test_a_frame_cut_short_by_death_is_cut_off(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "crawler-1")
    whole = spool.append([gone(1)], now_s=0.0)
    spool.append([gone(2)], now_s=0.0)
    spool.close()
    path = tmp_path / "journal-1"
    written = path.read_bytes()
    for length in range(whole.journal_bytes, len(written)):
        path.write_bytes(written[:length])
        reopened = Spool(tmp_path, "crawler-1")
        assert reopened.position == whole, length
        reopened.close()


def test_a_journal_that_lost_committed_records_is_a_fault(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "crawler-1")
    committed = spool.append([gone(1)], now_s=0.0)
    spool.close()
    os.truncate(tmp_path / "journal-1", committed.journal_bytes - 1)
    with pytest.raises(HostFault, match="restore it together"):
        Spool(tmp_path, "crawler-1", committed)
    with pytest.raises(HostFault, match="journal 7 is missing"):
        Spool(tmp_path, "crawler-1", SpoolPosition(7, 0))


@pytest.mark.parametrize(
    ("rules", "seconds_later", "sealed"),
    [
        (SealRules(records_max=2), 0, True),
        (SealRules(journal_bytes_max=20), 0, True),
        (SealRules(age_s_max=5), 5, True),
        (SealRules(), 5, False),
    ],
)
def test_a_journal_is_sealed_when_large_or_old(
    tmp_path: Path, rules: SealRules, seconds_later: float, sealed: bool
) -> None:
    spool = Spool(tmp_path, "crawler-1", rules=rules)
    assert spool.seal_if_due(0.0) is None
    spool.append([gone(1), gone(2)], now_s=100.0)
    assert (spool.seal_if_due(100.0 + seconds_later) is not None) == sealed
    spool.close()


@pytest.mark.parametrize(("sites", "sealed"), [(1, False), (20, True)])
def test_a_journal_of_many_sites_is_sealed_sooner(tmp_path: Path, sites: int, sealed: bool) -> None:
    spool = Spool(tmp_path, "crawler-1", rules=SealRules(varied_bytes_max=20))
    urls = [f"http://s{number % sites}.example/{number}" for number in range(20)]
    spool.append([PageSeen(url=u, visit=1, fetched_at_ms=0, page=Page(url=u)) for u in urls], now_s=0.0)
    assert (spool.seal_if_due(0.0) is not None) == sealed
    spool.close()


_VICTIM = """
import sys
from pathlib import Path
from ipmicra.model.records import PageGone
from ipmicra.carrier.spool import SealRules, Spool, SpoolPosition

folder, truth = Path(sys.argv[1]), Path(sys.argv[2])
lines = truth.read_text().splitlines() if truth.exists() else []
done, sequence, size = (int(word) for word in lines[-1].split()) if lines else (0, 1, 0)
spool = Spool(folder, "crawler-1", SpoolPosition(sequence, size), SealRules(records_max=7))
with truth.open("a") as log:
    while True:
        done += 1
        record = PageGone(url=f"http://a.example/{done}", visit=1, fetched_at_ms=done, status=404)
        position = spool.append([record], 0.0)
        log.write(f"{done} {position.sequence} {position.journal_bytes}\\n")
        log.flush()
        print(done, flush=True)
        spool.seal_if_due(0.0)
"""


def test_death_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    truth = tmp_path / "truth"
    for life in range(12):
        victim = subprocess.Popen(
            [sys.executable, "-c", _VICTIM, str(tmp_path / "spool"), str(truth)], stdout=subprocess.PIPE
        )
        assert victim.stdout is not None
        for _ in range(3 + life * 5 % 17):
            victim.stdout.readline()
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    done = int(truth.read_text().splitlines()[-1].split()[0])
    last = SpoolPosition(*(int(word) for word in truth.read_text().splitlines()[-1].split()[1:]))
    spool = Spool(tmp_path / "spool", "crawler-1", last)
    spool.seal()
    records = [record for package in spool.waiting() for record in unpack(package.path.read_bytes())[1]]
    spool.close()
    assert records == [gone(number) for number in range(1, done + 1)]


def test_a_frame_that_was_cut_short_is_gone_before_the_next_is_written(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "crawler-1")
    spool.append([gone(1)], now_s=0.0)
    spool.close()
    journal = tmp_path / "journal-1"
    with journal.open("ab") as file:
        file.write(b"\xff\x00\x00\x00half of a frame")
    again = Spool(tmp_path, "crawler-1")
    again.append([gone(2)], now_s=1.0)
    again.close()
    assert sealed_records(tmp_path) == [gone(1), gone(2)]


def test_a_frame_whose_bytes_never_reached_the_disk_is_not_read(tmp_path: Path) -> None:
    """After a power cut a file may have its length without its bytes."""
    spool = Spool(tmp_path, "crawler-1")
    end = spool.append([gone(1)], now_s=0.0).journal_bytes
    spool.append([gone(2)], now_s=0.0)
    spool.close()
    journal = tmp_path / "journal-1"
    data = bytearray(journal.read_bytes())
    data[-4] ^= 1
    assert len(data) > end
    journal.write_bytes(data)
    assert sealed_records(tmp_path) == [gone(1)]

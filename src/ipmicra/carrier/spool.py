"""Records -> a journal -> sealed packages that wait here until they are acknowledged.

    position = spool.append(records, now_s)     written and synced, not yet committed
    (the caller commits `position` in the transaction that marks those pages as done)
    spool.seal_if_due(now_s)                    journal n becomes package n, the next journal is n + 1
        (or in two steps, the second of them in a thread: `rotate_if_due`, `pack_journal`)
    for package in spool.waiting(): send it, then spool.acknowledge(package)

Invariant: nothing is lost or duplicated, whenever the process dies. The caller's transaction is the
truth: at opening, records appended behind the committed position are dropped. Seal only when everything
appended is committed; so a package holds committed records only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ipmicra.carrier.durable import make_folder, sync_folder, write_durably
from ipmicra.carrier.journal import Journal, JournalEntry, contents_in
from ipmicra.carrier.package import PackageFile, digest_of, pack_contents, package_name, packages_in
from ipmicra.errors import HostFault
from ipmicra.model.records import Record

FOLDER = "spool"  # under the data folder; one folder per crawler in it


class SpoolPosition(NamedTuple):
    """How far a spool is written: `journal_bytes` of the journal that becomes package `sequence`."""

    sequence: int
    journal_bytes: int


class SealRules(msgspec.Struct, frozen=True, kw_only=True):
    """When a journal is worth a package: larger ones compress better, smaller ones arrive sooner."""

    records_max: int = 20_000
    journal_bytes_max: int = 32 * 1024 * 1024
    varied_bytes_max: int = 14 * 1024 * 1024  # where pages are of many sites: sealing holds every link
    age_s_max: float = 60.0
    level: int = 0  # of compression; 0: by what there is to compress, see `level_for`


class FullJournal(NamedTuple):
    """A journal to which nothing is appended any more."""

    sequence: int
    entries: list[JournalEntry]


class Spool:
    """One crawler's spool in one folder. One process at a time; close it."""

    def __init__(
        self,
        folder: Path,
        crawler: str,
        committed: SpoolPosition | None = None,
        rules: SealRules = SealRules(),  # noqa: B008 - frozen
    ) -> None:
        """`committed` is the last position that the caller made durable; None trusts the journal."""
        self.folder, self.crawler, self.rules = folder, crawler, rules
        self._first_append_s: float | None = None
        make_folder(folder)
        self._sequence = self._sequence_at_opening(committed)
        self._journal = Journal(self._journal_path(self._sequence), self._bytes_to_keep(committed))
        sync_folder(folder)  # the name of a new journal
        self._finish_older_journals(committed)

    @property
    def position(self) -> SpoolPosition:
        return SpoolPosition(self._sequence, self._journal.written_bytes)

    @property
    def unsealed(self) -> int:
        """Records in the journal."""
        return len(self._journal.entries)

    def append(self, records: Sequence[Record], now_s: float) -> SpoolPosition:
        """Journal `records` durably. They count once the caller has committed the returned position."""
        if records:
            self._journal.append(records)
            if self._first_append_s is None:
                self._first_append_s = now_s
        return self.position

    def seal_if_due(self, now_s: float) -> PackageFile | None:
        """Seal when the journal is large or old enough."""
        full = self.rotate_if_due(now_s)
        return None if full is None else self.pack_journal(full)

    def seal(self) -> PackageFile | None:
        """Turn the journal into a package. None when there is nothing to seal."""
        return self.pack_journal(self._rotate()) if self._journal.entries else None

    def rotate_if_due(self, now_s: float) -> FullJournal | None:
        """Go on in the next journal when this one is large or old enough; `pack_journal` what is returned."""
        if self._first_append_s is None:
            self._first_append_s = now_s if self.unsealed else None
            return None
        due = (
            self.unsealed >= self.rules.records_max
            or self._journal.written_bytes >= self.rules.journal_bytes_max
            or (self._journal.is_varied and self._journal.written_bytes >= self.rules.varied_bytes_max)
            or now_s - self._first_append_s >= self.rules.age_s_max
        )
        return self._rotate() if due and self._journal.entries else None

    def pack_journal(self, full: FullJournal) -> PackageFile:
        """The package of a journal that was left, and the journal gone. May run in another thread."""
        journal = self._journal_path(full.sequence)
        with contents_in(journal, full.entries) as contents:
            parts = pack_contents(contents, self.crawler, full.sequence, self.rules.level)
        path = self.folder / package_name(full.sequence, digest_of(*parts))
        write_durably(path, *parts)
        journal.unlink(missing_ok=True)
        return PackageFile.at(path)

    def _rotate(self) -> FullJournal:
        full, self._sequence = FullJournal(self._sequence, self._journal.entries), self._sequence + 1
        self._journal.close()
        self._journal = Journal(self._journal_path(self._sequence), None)
        sync_folder(self.folder)
        self._first_append_s = None
        return full

    def waiting(self) -> list[PackageFile]:
        """Packages not yet acknowledged, oldest first."""
        return packages_in(self.folder)

    def acknowledge(self, package: PackageFile) -> None:
        """The other side holds `package` durably: forget it, and that it had a journal."""
        self._journal_path(package.sequence).unlink(missing_ok=True)
        package.path.unlink(missing_ok=True)
        sync_folder(self.folder)

    def close(self) -> None:
        self._journal.close()

    def _sequence_at_opening(self, committed: SpoolPosition | None) -> int:
        """The newest journal's number; one more where its package was sealed before the journal went."""
        journals = [_number(path) for path in self.folder.glob("journal-*")]
        newest = max([*journals, *(package.sequence + 1 for package in self.waiting())], default=1)
        if committed is not None and committed.sequence > newest:
            raise HostFault(
                f"opening the spool {self.folder}: journal {committed.sequence} is missing, the newest "
                f"is {newest}; restore the folder together with the frontier it belongs to"
            )
        return newest

    def _bytes_to_keep(self, committed: SpoolPosition | None) -> int | None:
        if committed is None:
            return None
        return committed.journal_bytes if committed.sequence == self._sequence else 0

    def _finish_older_journals(self, committed: SpoolPosition | None) -> None:
        """Seal older journals that are not packages yet; delete those that are."""
        for path in self.folder.glob(".*.unfinished"):
            path.unlink()
        packed = {package.sequence for package in self.waiting()}
        for sequence, path in sorted((_number(path), path) for path in self.folder.glob("journal-*")):
            if sequence >= self._sequence:
                continue
            if sequence in packed:
                path.unlink()
                continue
            is_last = committed is not None and committed.sequence == sequence
            journal = Journal(path, committed.journal_bytes if committed and is_last else None)
            journal.close()
            if journal.entries:
                self.pack_journal(FullJournal(sequence, journal.entries))
            else:
                path.unlink()

    def _journal_path(self, sequence: int) -> Path:
        return self.folder / f"journal-{sequence}"


def _number(journal: Path) -> int:
    return int(journal.name.removeprefix("journal-"))


def spools_in(data_folder: Path) -> list[Path]:
    """The spool folders of all crawlers that keep their data in `data_folder`."""
    return sorted(path for path in (data_folder / FOLDER).glob("*") if path.is_dir())

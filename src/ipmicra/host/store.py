"""Orders, assignments, states and traffic of a host -> one SQLite file that survives a kill at any moment.

Contents: facts by name, sequence numbers of the channels, orders and their results, assigned sites with
their epochs, states of released sites that are still to be sent, which packages were made in which
epoch, and every address contacted with its bytes, by day.

Invariant: a sequence number is used only after its reservation is committed. An address is recorded
before the first packet of a day goes to it; byte counts may lag by one second.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from ipmicra.errors import HostFault
from ipmicra.model.ids import LeaseEpoch, SiteEpoch
from ipmicra.protocol.host_messages import OrderDone

FILE = "host.sqlite"
SCHEMA = 1
SEQUENCES_AT_ONCE = 100
ORDERS_REMEMBERED = 10_000
EVENTS_REMEMBERED = 10_000

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS channels (channel TEXT PRIMARY KEY, reserved INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, outcome BLOB);
CREATE TABLE IF NOT EXISTS sites (
    site TEXT PRIMARY KEY, epoch INTEGER NOT NULL, address TEXT NOT NULL, held INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS states (site TEXT PRIMARY KEY, epoch INTEGER NOT NULL, file TEXT NOT NULL)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS epochs (first_package INTEGER PRIMARY KEY, epoch INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS contacts (
    day TEXT NOT NULL, address TEXT NOT NULL, site TEXT NOT NULL, purpose TEXT NOT NULL,
    contacts INTEGER NOT NULL, bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL,
    PRIMARY KEY (day, address, site, purpose)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY, at_s REAL NOT NULL, what TEXT NOT NULL);
"""

_encode_done = msgspec.msgpack.Encoder().encode
_decode_done = msgspec.msgpack.Decoder(OrderDone).decode


class HeldSite(NamedTuple):
    site: str
    epoch: SiteEpoch
    address: str


class WaitingState(NamedTuple):
    """A released site's state, exported and still to be sent."""

    site: str
    epoch: SiteEpoch
    file: str


class Contact(NamedTuple):
    """One address on one day, and what for: "fetch", "probe" or "coordinator"."""

    day: str
    address: str
    site: str
    purpose: str
    contacts: int
    bytes_in: int
    bytes_out: int


class HostEvent(NamedTuple):
    at_s: float
    what: str


class HostStore:
    """One host's store. Several processes may open it; only the running host writes orders."""

    def __init__(self, folder: Path) -> None:
        path = folder / FILE
        self._database = sqlite3.connect(path, isolation_level=None, timeout=30)
        self._database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            self._database.close()
            raise HostFault(f"{path} was made by a newer ipmicra (schema {version}); use that version")
        self._database.executescript(f"{_TABLES} PRAGMA user_version = {SCHEMA};")
        self._sequences: dict[str, Iterator[int]] = {}
        path.chmod(0o600)

    def close(self) -> None:
        self._database.close()

    # --- facts --------------------------------------------------------------------------------------

    def get(self, name: str) -> str | None:
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def facts(self) -> dict[str, str]:
        return dict(self._database.execute("SELECT name, value FROM facts ORDER BY name"))

    def set(self, **facts: str | None) -> None:
        """Set facts by name; None removes one."""
        with self._transaction():
            for name, value in facts.items():
                if value is None:
                    self._database.execute("DELETE FROM facts WHERE name = ?", (name,))
                else:
                    self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def log_event(self, what: str) -> None:
        """Add an event for `host log`."""
        with self._transaction():
            number = self._database.execute(
                "INSERT INTO events (at_s, what) VALUES (?, ?)", (time.time(), what)
            ).lastrowid
            self._database.execute(
                "DELETE FROM events WHERE number <= ?", ((number or 0) - EVENTS_REMEMBERED,)
            )

    def events(self, most: int) -> list[HostEvent]:
        """The latest ones, oldest first."""
        rows = self._database.execute(
            "SELECT at_s, what FROM events ORDER BY number DESC LIMIT ?", (most,)
        )
        return [HostEvent(*row) for row in rows][::-1]

    # --- sequences ----------------------------------------------------------------------------------

    def next_sequence(self, channel: str) -> int:
        """A number that no request on the channel has used, even before a crash of this process."""
        numbers = self._sequences.get(channel)
        number = next(numbers, None) if numbers is not None else None
        if number is None:
            numbers = self._sequences[channel] = iter(self._reserve(channel))
            number = next(numbers)
        return number

    def _reserve(self, channel: str) -> range:
        """The next hundred numbers; the reservation is durable on return."""
        with self._transaction():
            (last,) = self._database.execute(
                "INSERT INTO channels VALUES (?1, ?2) ON CONFLICT DO UPDATE"
                " SET reserved = reserved + ?2 RETURNING reserved",
                (channel, SEQUENCES_AT_ONCE),
            ).fetchone()
        return range(last - SEQUENCES_AT_ONCE + 1, last + 1)

    # --- orders -------------------------------------------------------------------------------------

    def is_done(self, number: int) -> bool:
        query = "SELECT 1 FROM orders WHERE number = ?"
        return self._database.execute(query, (number,)).fetchone() is not None

    def record_order(self, done: OrderDone) -> None:
        """From now on the order is reported, and never executed again."""
        with self._transaction():
            self._database.execute(
                "INSERT OR IGNORE INTO orders VALUES (?, ?)", (done.number, _encode_done(done))
            )

    def unreported(self, most: int) -> list[OrderDone]:
        rows = self._database.execute(
            "SELECT outcome FROM orders WHERE outcome IS NOT NULL ORDER BY number LIMIT ?", (most,)
        )
        return [_decode_done(outcome) for (outcome,) in rows]

    def mark_reported(self, done: list[OrderDone]) -> None:
        """The coordinator knows. The numbers stay, in case an order was sent again in the meantime."""
        with self._transaction():
            self._database.executemany(
                "UPDATE orders SET outcome = NULL WHERE number = ?", [(order.number,) for order in done]
            )
            self._database.execute(
                "DELETE FROM orders WHERE outcome IS NULL AND number <"
                " (SELECT coalesce(max(number), 0) - ? FROM orders)",
                (ORDERS_REMEMBERED,),
            )

    # --- sites --------------------------------------------------------------------------------------

    def add_site(self, held: HeldSite) -> bool:
        """Record a site as assigned. False if it was released in this or a later epoch."""
        with self._transaction():
            row = self._database.execute(
                "SELECT epoch, held FROM sites WHERE site = ?", (held.site,)
            ).fetchone()
            if row is not None and (row[0] > held.epoch or (row[0] == held.epoch and not row[1])):
                return False
            self._database.execute("INSERT OR REPLACE INTO sites VALUES (?, ?, ?, 1)", held)
            return True

    def held_sites(self) -> list[HeldSite]:
        rows = self._database.execute("SELECT site, epoch, address FROM sites WHERE held ORDER BY site")
        return [HeldSite(*row) for row in rows]

    def release_site(self, site: str, epoch: SiteEpoch, state_file: str | None) -> None:
        """The site is no longer assigned here; its state, if any, waits to be sent."""
        with self._transaction():
            self._database.execute(
                "INSERT INTO sites VALUES (?, ?, '', 0) ON CONFLICT DO UPDATE"
                " SET held = 0, epoch = max(epoch, excluded.epoch)",
                (site, epoch),
            )
            if state_file is not None:
                self._database.execute(
                    "INSERT OR REPLACE INTO states VALUES (?, ?, ?)", (site, epoch, state_file)
                )

    def waiting_states(self) -> list[WaitingState]:
        return [WaitingState(*row) for row in self._database.execute("SELECT * FROM states")]

    def remove_state(self, state: WaitingState) -> None:
        with self._transaction():
            self._database.execute("DELETE FROM states WHERE site = ? AND epoch = ?", state[:2])

    # --- epochs of packages -------------------------------------------------------------------------

    def epoch(self) -> LeaseEpoch | None:
        """Epoch of the host's lease; None before the first response of the coordinator."""
        (epoch,) = self._database.execute("SELECT max(epoch) FROM epochs").fetchone()
        return None if epoch is None else LeaseEpoch(epoch)

    def begin_epoch(self, epoch: LeaseEpoch, first_package: int) -> None:
        """Packages from this number on belong to this epoch."""
        with self._transaction():
            self._database.execute("INSERT OR REPLACE INTO epochs VALUES (?, ?)", (first_package, epoch))

    def epoch_of(self, package: int) -> LeaseEpoch:
        (epoch,) = self._database.execute(
            "SELECT epoch FROM epochs WHERE first_package <= ? ORDER BY first_package DESC LIMIT 1",
            (package,),
        ).fetchone() or (0,)
        return LeaseEpoch(epoch)

    # --- contacts -----------------------------------------------------------------------------------

    def add_contacts(self, contacts: list[Contact]) -> None:
        with self._transaction():
            self._database.executemany(
                "INSERT INTO contacts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " contacts = contacts + excluded.contacts, bytes_in = bytes_in + excluded.bytes_in,"
                " bytes_out = bytes_out + excluded.bytes_out",
                contacts,
            )

    def contacts(self, since_day: str = "") -> list[Contact]:
        rows = self._database.execute(
            "SELECT * FROM contacts WHERE day >= ? ORDER BY day, purpose, site, address", (since_day,)
        )
        return [Contact(*row) for row in rows]

    def bytes_since(self, day: str) -> int:
        """Both directions together, from that day on."""
        (total,) = self._database.execute(
            "SELECT coalesce(sum(bytes_in + bytes_out), 0) FROM contacts WHERE day >= ?", (day,)
        ).fetchone()
        return int(total)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

"""A database address -> an open database with the schema of this version.

SQLite in the data folder by default; PostgreSQL when one process is not enough. Invariant: a writing
transaction takes its lock when it begins (BEGIN IMMEDIATE), so two writers wait for each other instead
of failing at commit; a schema newer than this program is refused before anything is touched; only a
command that starts a new coordinator creates a database (`create`), so that a mistyped folder is an error.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.pool import ConnectionPoolEntry

from ipmicra.coordinator.metrics import DATABASE_TIME, timed
from ipmicra.coordinator.store.sql.migrations import migrate
from ipmicra.coordinator.store.sql.schema import SCHEMA_VERSION, metadata, schema_version_table
from ipmicra.errors import HostFault, OperatorFault

BUSY_SECONDS = 30
CHECKED_BYTES_MAX = 1 << 30  # a file that a slow disk reads in some seconds
_READING = "ipmicra_reading"
_READS, _WRITES = DATABASE_TIME.labels("read"), DATABASE_TIME.labels("write")


class Database:
    """The coordinator's database. `begin()` opens a transaction that commits unless it raises."""

    @classmethod
    def empty(cls, address: str) -> Database:
        """A database without tables, for a caller that fills it in one transaction."""
        database = cls.__new__(cls)
        database.engine = _engine(address)
        database.address = database.engine.url.render_as_string(hide_password=True)
        return database

    def __init__(self, address: str, create: bool = True) -> None:
        self.engine = _engine(address)
        self.address = self.engine.url.render_as_string(hide_password=True)
        if not create and self._is_missing_file():
            raise NoCoordinator(self.address)
        try:
            self._migrate(create)
        except DatabaseError as error:
            self.engine.dispose()
            raise HostFault(f"opening the database {self.address}: {_advice(error)}") from error
        except OperatorFault:
            self.engine.dispose()
            raise

    def _is_missing_file(self) -> bool:
        """Checked before connecting, because SQLite creates the file."""
        file = self.engine.url.database
        return not self.is_postgresql and bool(file) and not Path(file or "").exists()

    @property
    def is_postgresql(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        with timed(_WRITES), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent snapshot; does not wait for writers."""
        with (
            timed(_READS),
            self.engine.connect().execution_options(**{_READING: True}) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """All tables as they are at one moment, for as long as it takes to read them."""
        if not self.is_postgresql:
            with self.read() as connection:
                yield connection
            return
        options = {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def is_begun(self) -> bool:
        """Whether there is a coordinator in it."""
        with self.begin() as connection:
            return self._stored_version(connection) is not None

    def close(self) -> None:
        self.engine.dispose()

    def _migrate(self, create: bool) -> None:
        with self.begin() as connection:
            version = self._stored_version(connection)
            if version is None and not create:
                raise NoCoordinator(self.address)
            if version is not None and version > SCHEMA_VERSION:
                raise OperatorFault(
                    f"the database {self.address} has schema {version}, written by a newer ipmicra; "
                    f"this version supports up to {SCHEMA_VERSION}: run the newer version"
                )
            metadata.create_all(connection)
            if version is None:
                connection.execute(schema_version_table.insert().values(version=SCHEMA_VERSION))
            elif version < SCHEMA_VERSION:
                migrate(connection, version)
                connection.execute(schema_version_table.update().values(version=SCHEMA_VERSION))

    def _stored_version(self, connection: Connection) -> int | None:
        if self.is_postgresql:  # replicas that start together create the schema one after the other
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7311)")
        if not inspect(connection).has_table(schema_version_table.name):
            return None
        return connection.execute(select(schema_version_table.c.version)).scalar()


class InspectedDatabase(NamedTuple):
    """A database that was looked at: its address without the password, and its schema."""

    address: str
    version: int | None  # None: no coordinator was begun in it


def inspect_database(address: str) -> InspectedDatabase:
    """Whether the database answers and is undamaged; nothing is created or migrated. Raises Fault."""
    database = Database.empty(address)
    try:
        if database._is_missing_file():
            raise NoCoordinator(database.address)
        with database.read() as connection:
            version = database._stored_version(connection)
            if not database.is_postgresql:
                _check_pages(connection, database.address)
    except DatabaseError as error:
        raise HostFault(f"opening the database {database.address}: {_advice(error)}") from error
    finally:
        database.close()
    return InspectedDatabase(database.address, version)


def _check_pages(connection: Connection, address: str) -> None:
    """SQLite's own check of a file that is small enough for it."""
    (pages,) = connection.exec_driver_sql("PRAGMA page_count").one()
    (page_bytes,) = connection.exec_driver_sql("PRAGMA page_size").one()
    if pages * page_bytes > CHECKED_BYTES_MAX:
        return
    said = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if said != "ok":
        raise HostFault(f"the database {address} is damaged: {said}. Restore it from a backup")


class NoCoordinator(OperatorFault):
    """The database is empty or not there: no coordinator was ever begun in it."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"no coordinator exists in {address}. To use an existing one, give its --database or "
            "general.data_folder; to begin one here: ipmicra coordinator run, or ipmicra coordinator init"
        )


def _advice(error: DatabaseError) -> str:
    """The database's error, with advice where it is known."""
    said = str(error.orig)
    if "not a database" in said or "malformed" in said:
        return f"{said}. The file is damaged or is another program's: restore it from a backup"
    return said


def _engine(address: str) -> Engine:
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise OperatorFault(
            f"{address!r} is not a database address; write sqlite:///FILE or postgresql://USER@HOST/NAME"
        ) from error
    if url.get_backend_name() == "postgresql":
        return create_engine(url.set(drivername="postgresql+psycopg"), pool_size=8, pool_pre_ping=True)
    if url.get_backend_name() != "sqlite":
        raise OperatorFault(f"{address!r}: the coordinator supports sqlite and postgresql")
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediately)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    """WAL with full sync: a committed transaction survives a power cut."""
    connection.isolation_level = None
    for pragma in (
        "journal_mode=wal",
        "synchronous=full",
        "foreign_keys=on",
        f"busy_timeout={BUSY_SECONDS}000",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediately(connection: Connection) -> None:
    reading = connection.get_execution_options().get(_READING)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

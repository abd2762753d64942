"""Tables <-> files of rows that fit any database: zstd over MessagePack, the names of the columns first.

Invariant: what is written is one moment's state of all tables; what is read in lands in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from sqlalchemy import Connection, Table, func, insert, select, text

from ipmicra.coordinator.store.sql.batches import in_batches
from ipmicra.coordinator.store.sql.schema import metadata
from ipmicra.errors import OperatorFault

ROWS_AT_ONCE = 500
ROW_BYTES_MAX = 256 << 20  # a leader's memory is the largest
_LENGTH_BYTES = 4


def tables() -> list[Table]:
    """All tables, those that others refer to first."""
    return list(metadata.sorted_tables)


def write_table(connection: Connection, table: Table, file: Path) -> int:
    """Every row of the table. Returns how many there are."""
    count = 0
    with file.open("wb") as raw, zstandard.ZstdCompressor(level=3).stream_writer(raw) as out:
        _write(out, [str(column.name) for column in table.columns])
        found = connection.execution_options(stream_results=True).execute(select(table))
        for part in found.partitions(ROWS_AT_ONCE):
            _write(out, [list(row) for row in part])
            count += len(part)
    return count


def _write(out: Any, value: object) -> None:
    data = msgspec.msgpack.encode(value)
    out.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)


def rows_in(file: Path) -> Iterator[dict[str, object]]:
    """The rows of a file, as they were. Raises `OperatorFault` where it is damaged."""
    try:
        with file.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as source:
            columns = msgspec.msgpack.decode(_read(source) or b"", type=list[str])
            while part := _read(source):
                for row in msgspec.msgpack.decode(part, type=list[list[object]]):
                    yield dict(zip(columns, row, strict=True))
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError, EOFError) as error:
        raise OperatorFault(f"the rows of {file.stem!r} in the backup are damaged: {error}") from error


def _read(source: Any) -> bytes | None:
    head = _read_exactly(source, _LENGTH_BYTES)
    if not head:
        return None
    length = int.from_bytes(head, "big")
    if length > ROW_BYTES_MAX * 2:
        raise ValueError(f"a part of {length} bytes")
    return _read_exactly(source, length)


def _read_exactly(source: Any, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = source.read(length - len(data))
        if not more:
            if data:
                raise EOFError("cut off")
            return b""
        data += more
    return data


def read_table(connection: Connection, table: Table, rows: Iterable[dict[str, object]]) -> int:
    """Insert the rows; columns that this program does not know are left out."""
    known, count = {column.name for column in table.columns}, 0
    batch: list[dict[str, object]] = []
    for row in rows:
        batch.append({name: value for name, value in row.items() if name in known})
        if len(batch) == ROWS_AT_ONCE:
            count += _insert(connection, table, batch)
            batch = []
    return count + _insert(connection, table, batch)


def _insert(connection: Connection, table: Table, batch: list[dict[str, object]]) -> int:
    for part in in_batches(batch):
        connection.execute(insert(table), list(part))
    return len(batch)


def number_on(connection: Connection) -> None:
    """PostgreSQL numbers rows by sequences, which know nothing of rows that came with their numbers."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables():
        column = table.autoincrement_column
        if column is not None and len(table.primary_key.columns) == 1:
            last = connection.execute(select(func.max(column))).scalar()
            sequence = connection.execute(
                text("SELECT pg_get_serial_sequence(:of_table, :of_column)"),
                {"of_table": table.name, "of_column": column.name},
            ).scalar()
            if last is not None and sequence is not None:
                connection.execute(
                    text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last}
                )

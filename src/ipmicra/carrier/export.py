"""Packages -> files that other tools read: JSON lines and Parquet.

Invariant: one row per record, with the crawler that made it; only the form changes, no value. A
file gets its name only when it is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from ipmicra.carrier.package import Package
from ipmicra.errors import OperatorFault
from ipmicra.model.page import PAGE_FIELDS, Link, RobotsDirectives
from ipmicra.model.records import PageSeen, Record

if TYPE_CHECKING:
    import pyarrow as pa

ExportRow = dict[str, object]


def rows_of(package: Package) -> Iterator[ExportRow]:
    """A package's records as flat rows; `kind` says which they are."""
    return (_row(record, package.header.crawler) for record in package.records)


def write_json_lines(packages: Iterable[Package], file: BinaryIO) -> int:
    """Write every record of every kind, one per line. Returns their number."""
    count = 0
    for package in packages:
        lines = [msgspec.json.encode(row) for row in rows_of(package)]
        file.write(b"".join(line + b"\n" for line in lines))
        count += len(lines)
    return count


def write_parquet(packages: Iterable[Package], path: Path) -> int:
    """Write the pages, one row group per package. Returns their number."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as missing:
        raise OperatorFault(
            f"exporting to {path}: Parquet needs pyarrow; install it with pip install 'ipmicra[export]'"
        ) from missing
    unfinished = path.with_name(f".{path.name}.unfinished")
    count = 0
    with parquet.ParquetWriter(unfinished, _schema(), compression="zstd") as writer:
        for package in packages:
            rows = [row for row in rows_of(package) if row["kind"] == "page"]
            if rows:
                writer.write_table(pa.Table.from_pylist(rows, schema=writer.schema))
            count += len(rows)
    unfinished.replace(path)
    return count


def _row(record: Record, crawler: str) -> ExportRow:
    row: ExportRow = {"kind": record.__struct_config__.tag, "crawler": crawler}
    if not isinstance(record, PageSeen):
        return row | msgspec.structs.asdict(record)
    row |= {name: getattr(record, name) for name in ("url", "visit", "fetched_at_ms", "status")}
    row |= {name: _cell(getattr(record.page, name)) for name in PAGE_FIELDS}
    return row | {"similarity_hash": f"{record.page.similarity_hash:016x}"}


def _cell(value: object) -> object:
    """A value of a page as other tools read it."""
    match value:
        case bytes():
            return value.hex()
        case RobotsDirectives():
            return [name for name, is_asked in value._asdict().items() if is_asked]
        case [Link(), *_]:
            return [_cell(link) for link in value]
        case Link():
            return value._asdict()
    return value


def _schema() -> pa.Schema:
    """The columns of a Parquet file."""
    import pyarrow as pa

    link = pa.struct([("url", pa.string()), ("text", pa.string()), ("rel", pa.string())])
    texts = ("kind", "crawler", "url", "canonical", "title", "description", "language", "text")
    return pa.schema(
        [
            *((name, pa.string()) for name in texts),
            ("visit", pa.int64()),
            ("fetched_at_ms", pa.timestamp("ms", tz="UTC")),
            ("status", pa.int32()),
            ("headings", pa.list_(pa.string())),
            ("links", pa.list_(link)),
            ("published_at_s", pa.timestamp("s", tz="UTC")),
            ("modified_at_s", pa.timestamp("s", tz="UTC")),
            *(
                (name, pa.string())
                for name in ("content_hash", "similarity_hash", "media_type", "charset")
            ),
            ("robots", pa.list_(pa.string())),
            ("body_bytes", pa.int64()),
            ("truncated", pa.bool_()),
        ]
    )

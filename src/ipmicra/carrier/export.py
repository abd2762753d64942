"""Packages -> files that other tools read: JSON lines and Parquet.

Invariant: one row a record, with the crawler that made it; nothing is changed on the way but the form. A
file bears its name only once it is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from ipmicra.carrier.package import Package
from ipmicra.errors import OperatorFault
from ipmicra.model.records import PageSeen, Record

if TYPE_CHECKING:
    import pyarrow as pa

ExportRow = dict[str, object]


def rows_of(package: Package) -> Iterator[ExportRow]:
    """A package's records as flat rows; `kind` says which they are."""
    return (_row(record, package.header.crawler) for record in package.records)


def write_json_lines(packages: Iterable[Package], file: BinaryIO) -> int:
    """Every record of every kind, a line each. How many there were."""
    count = 0
    for package in packages:
        lines = [msgspec.json.encode(row) for row in rows_of(package)]
        file.write(b"".join(line + b"\n" for line in lines))
        count += len(lines)
    return count


def write_parquet(packages: Iterable[Package], path: Path) -> int:
    """The pages, a row group a package. How many there were."""
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
    page = record.page
    return row | {
        "url": record.url,
        "visit": record.visit,
        "fetched_at_ms": record.fetched_at_ms,
        "status": record.status,
        "canonical": page.canonical,
        "title": page.title,
        "description": page.description,
        "language": page.language,
        "text": page.text,
        "headings": page.headings,
        "links": [link._asdict() for link in page.links],
        "published_at_s": page.published_at_s,
        "modified_at_s": page.modified_at_s,
        "content_hash": page.content_hash.hex(),
        "similarity_hash": f"{page.similarity_hash:016x}",
        "robots": [name for name, asked in page.robots._asdict().items() if asked],
        "media_type": page.media_type,
        "charset": page.charset,
        "body_bytes": page.body_bytes,
        "truncated": page.truncated,
    }


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

"""Exports: read back by the tools that they are for."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import msgspec
import pytest
from pyarrow import parquet
from warcio.archiveiterator import ArchiveIterator

from ipmicra.carrier.export import write_json_lines, write_parquet
from ipmicra.carrier.package import Package, pack, unpack
from ipmicra.carrier.warc import WarcWriter
from ipmicra.crawler.extraction import extract
from ipmicra.model.records import PageGone, PageSeen, Record

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc warns of its own older half
    from fastwarc.warc import ArchiveIterator as StrictIterator

URL = "http://a.example/x"


@pytest.fixture
def package() -> Package:
    page = extract(
        b"<html lang=en><title>T</title><h1>H</h1><p>text<a href=y rel=nofollow>Y</a>", "text/html", URL
    )
    records: list[Record] = [
        PageSeen(url=URL, visit=2, fetched_at_ms=1_700_000_000_123, page=page),
        PageGone(url="http://a.example/z", visit=1, fetched_at_ms=5, status=404),
    ]
    return unpack(pack(records, "athens", 1))


def test_json_lines_hold_every_record(package: Package) -> None:
    file = io.BytesIO()
    assert write_json_lines([package, package], file) == 4
    rows = [msgspec.json.decode(line) for line in file.getvalue().splitlines()]
    assert [row["kind"] for row in rows] == ["page", "gone", "page", "gone"]
    assert rows[0]["links"] == [{"url": "http://a.example/y", "text": "Y", "rel": "nofollow"}]
    assert (rows[0]["title"], rows[0]["crawler"], rows[1]["status"]) == ("T", "athens", 404)


def test_parquet_holds_the_pages(package: Package, tmp_path: Path) -> None:
    assert write_parquet([package, package], tmp_path / "pages.parquet") == 2
    rows = parquet.read_table(tmp_path / "pages.parquet").to_pylist()
    assert [row["url"] for row in rows] == [URL, URL]
    assert rows[0]["headings"] == ["H"]
    assert rows[0]["links"][0]["rel"] == "nofollow"
    assert rows[0]["fetched_at_ms"].year == 2023
    assert [path.name for path in tmp_path.iterdir()] == ["pages.parquet"]


REQUEST = b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n"
BODY = b"<p>caf\xc3\xa9 " * 1000
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
)


def test_a_warc_file_is_read_back_by_warcio_and_fastwarc(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    for at_ms in (1_700_000_000_000, 1_700_000_001_000):  # the second time it is appended to
        writer = WarcWriter(path, at_ms)
        writer.write(URL, at_ms, "192.0.2.1", REQUEST, CHUNKED)
        writer.close()
    with path.open("rb") as file:
        kinds, bodies = [], []
        for record in ArchiveIterator(file, check_digests="raise"):
            kinds.append(record.rec_type)
            if record.rec_type == "response":
                bodies.append(record.content_stream().read())
                assert record.rec_headers["WARC-Target-URI"] == URL
                assert record.http_headers.get_statuscode() == "200"
    assert kinds == ["warcinfo", "response", "request", "response", "request"]
    assert bodies == [BODY, BODY]
    with path.open("rb") as file:
        strict = [
            (record.headers["WARC-Type"], record.verify_block_digest(), record.headers["WARC-Date"])
            for record in StrictIterator(file, parse_http=False)
        ]
    assert [(name, sound) for name, sound, _ in strict] == [(name, True) for name in kinds]
    assert strict[1][2] == "2023-11-14T22:13:20Z"

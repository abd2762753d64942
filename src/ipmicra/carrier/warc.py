"""Raw exchanges with sites -> a WARC file (ISO 28500, version 1.1), one gzip member per record.

Invariant: what crossed the wire is kept as it was, encodings and all. A record is appended whole or,
after a death, closed at the next opening by its readers: gzip members end where they end.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from ipmicra import __version__

_COMPRESSION_LEVEL = 6


class WarcWriter:
    """Appends to one file. Close it."""

    def __init__(self, path: Path, at_ms: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists() or path.stat().st_size == 0
        self._file = path.open("ab")
        self._name = path.name
        if is_new:
            self._write_info(at_ms)

    def write(self, url: str, at_ms: int, address: str, request: bytes, response: bytes) -> None:
        """One exchange: the response, and the request that it answers."""
        response_id = self._identity(url, at_ms, "response")
        named = {"WARC-Target-URI": url, "WARC-IP-Address": address}
        self._write(
            "response", at_ms, response_id, response, "application/http; msgtype=response", named
        )
        self._write(
            "request",
            at_ms,
            self._identity(url, at_ms, "request"),
            request,
            "application/http; msgtype=request",
            {**named, "WARC-Concurrent-To": response_id},
        )
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _write_info(self, at_ms: int) -> None:
        block = f"software: ipmicra/{__version__}\r\nformat: WARC File Format 1.1\r\n".encode()
        identity = self._identity(self._name, at_ms, "warcinfo")
        self._write(
            "warcinfo", at_ms, identity, block, "application/warc-fields", {"WARC-Filename": self._name}
        )

    def _write(
        self,
        kind: str,
        at_ms: int,
        identity: str,
        block: bytes,
        content_type: str,
        named: dict[str, str],
    ) -> None:
        fields = {
            "WARC-Type": kind,
            "WARC-Record-ID": identity,
            "WARC-Date": datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **named,
            "WARC-Block-Digest": f"sha1:{_sha1(block)}",
            "Content-Type": content_type,
            "Content-Length": str(len(block)),
        }
        head = (
            "WARC/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
        )
        record = head.encode("utf-8") + block + b"\r\n\r\n"
        self._file.write(gzip.compress(record, _COMPRESSION_LEVEL, mtime=0))

    def _identity(self, what: str, at_ms: int, kind: str) -> str:
        return f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{self._name} {kind} {at_ms} {what}')}>"


def _sha1(block: bytes) -> str:
    """The digest that WARC readers expect; it guards against accidents, not against forgers."""
    return base64.b32encode(hashlib.sha1(block, usedforsecurity=False).digest()).decode("ascii")

"""The body of a signed request -> its bytes and their digest, read after the signature was checked.

A signature covers the digest of the body, which newer hosts send as a header; the digest of a package is in
its address, which is signed, too. Where neither is there (hosts of 0.1), an enrolled host must be named.

Invariant: a large body is never whole in memory: it lies in a file without a name, and is mapped.
"""

from __future__ import annotations

import hashlib
import mmap
import tempfile
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

from litestar import Request
from litestar.datastructures import State

BodyData: TypeAlias = bytes | mmap.mmap
SMALL_BYTES_MAX = 16 << 10  # read without looking at the signature first: a look costs as much
IN_MEMORY_BYTES_MAX = 1 << 20


class ReceivedBody(NamedTuple):
    data: BodyData
    digest: str


def is_small(request: Request[Any, Any, State]) -> bool:
    """Whether the request says that its body is small; the server reads no more than that."""
    announced = request.headers.get("content-length", "")
    return announced.isdecimal() and int(announced[:12]) <= SMALL_BYTES_MAX


async def receive_body(request: Request[Any, Any, State], folder: Path | None) -> ReceivedBody:
    """Read the body; a large one into a file in the folder."""
    digest = hashlib.sha256()
    with tempfile.SpooledTemporaryFile(
        max_size=IN_MEMORY_BYTES_MAX, dir=None if folder is None else str(folder)
    ) as file:
        async for part in request.stream():
            digest.update(part)
            file.write(part)
        return ReceivedBody(_content(file), digest.hexdigest())


def _content(file: tempfile.SpooledTemporaryFile[bytes]) -> BodyData:
    if file.tell() <= IN_MEMORY_BYTES_MAX:
        file.seek(0)
        return file.read()
    file.flush()
    return _mapped(file)


def _mapped(file: IO[bytes]) -> mmap.mmap:
    """The mapping lives on when the file is closed."""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

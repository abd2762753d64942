"""Bodies of requests: small ones in memory, large ones in a file that is mapped."""

from __future__ import annotations

import asyncio
import mmap
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.api.request_body import (
    IN_MEMORY_BYTES_MAX,
    SMALL_BYTES_MAX,
    is_small,
    receive_body,
)


class PlayedRequest:
    """What is needed of a request."""

    def __init__(self, *parts: bytes, **headers: str) -> None:
        self._parts = parts
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    async def stream(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


@pytest.mark.parametrize("size", [0, 10, IN_MEMORY_BYTES_MAX, IN_MEMORY_BYTES_MAX + 1, 5 << 20])
def test_a_body_is_received_whole_with_its_digest(tmp_path: Path, size: int) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    request: Any = PlayedRequest(content[: size // 2], content[size // 2 :], b"")
    body = asyncio.run(receive_body(request, tmp_path))
    assert bytes(body.data) == content
    assert body.digest == digest_of(content)
    assert isinstance(body.data, mmap.mmap) is (size > IN_MEMORY_BYTES_MAX)
    assert list(tmp_path.iterdir()) == [], "the file has no name"


@pytest.mark.parametrize(
    ("announced", "small"),
    [
        ("0", True),
        (str(SMALL_BYTES_MAX), True),
        (str(SMALL_BYTES_MAX + 1), False),
        ("", False),
        ("-1", False),
    ],
)
def test_a_body_is_small_if_it_says_so(announced: str, small: bool) -> None:
    request: Any = PlayedRequest(content_length=announced)
    assert is_small(request) is small


def test_a_body_without_a_length_is_not_small() -> None:
    request: Any = PlayedRequest()
    assert not is_small(request)

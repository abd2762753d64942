"""What tests of fetchers share: settings that open loopback, a server that answers, an outcome in a word."""

from __future__ import annotations

import asyncio

import msgspec

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import FetchFailed, FetchOutcome
from ipmicra.testing.plain_site import answer
from tests.hostile.certificates import Authority

LOOPBACK = FetchingSettings(
    open_ranges=("127.0.0.0/8", "::1/128"),
    connect_ms_max=2000,
    first_byte_ms_max=2000,
    total_ms_max=9000,
)


async def says_here(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    writer.write(answer(b"here"))
    await writer.drain()
    return True


def kind_of(outcome: FetchOutcome) -> FailureKind | int:
    return outcome.kind if isinstance(outcome, FetchFailed) else outcome.status


def trusting(authority: Authority) -> FetchingSettings:
    return msgspec.structs.replace(LOOPBACK, authorities_file=str(authority.pem))

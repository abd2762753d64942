"""What a host reports of its ordinary fetches: a time that was not measured is None, never 0.0 ms."""

from __future__ import annotations

import ipaddress

import msgspec
import pytest

from ipmicra.host.measuring.passive_round_trips import PassiveRoundTripBuffer
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import FetchFailed
from ipmicra.model.urls import Site
from ipmicra.protocol.host_messages import (
    PROTOCOL,
    Heartbeat,
    Orders,
    Passive,
    encode_missing_times,
)

SITE = Site("http://a.example")
ADDRESS = ipaddress.ip_address("192.0.2.1")


class PassiveBefore(msgspec.Struct, frozen=True, kw_only=True):
    """As version 0.1.0 has it: its coordinators refuse whatever differs."""

    site: str
    address: str
    round_trip_ms: float
    first_byte_ms: float
    download_ms: float
    fetches: int
    body_bytes: int


class HeartbeatBefore(msgspec.Struct, frozen=True, kw_only=True):
    passive: tuple[PassiveBefore, ...] = ()


def failed(round_trip_ms: float | None = None) -> FetchFailed:
    return FetchFailed(
        url=f"{SITE}/",
        kind=FailureKind.CONNECT_TIMEOUT,
        detail="",
        address=ADDRESS,
        round_trip_ms=round_trip_ms,
    )


def passive(round_trip_ms: float | None, first_byte_ms: float | None = 9.0) -> Passive:
    return Passive(
        site=SITE,
        address=str(ADDRESS),
        round_trip_ms=round_trip_ms,
        first_byte_ms=first_byte_ms,
        download_ms=2.0,
        fetches=3,
        body_bytes=100,
    )


def test_fetches_that_made_no_connection_have_no_round_trip() -> None:
    seen = PassiveRoundTripBuffer()
    for _ in range(3):
        seen.record(SITE, failed(), None)
    (taken,) = seen.drain(10)
    assert (taken.fetches, taken.round_trip_ms) == (3, None)
    assert (taken.first_byte_ms, taken.download_ms) == (None, None), "nothing was answered"


def test_the_least_round_trip_counts_whatever_failed_beside_it() -> None:
    seen = PassiveRoundTripBuffer()
    for round_trip_ms in (None, 7.5, None, 8.0):
        seen.record(SITE, failed(round_trip_ms), round_trip_ms)
    (taken,) = seen.drain(10)
    assert (taken.fetches, taken.round_trip_ms) == (4, 7.5)


@pytest.mark.parametrize("written", [0.0, -1.0, float("nan"), float("inf")])
def test_what_an_older_host_writes_for_none_is_read_as_none(written: float) -> None:
    before = PassiveBefore(
        site=SITE,
        address=str(ADDRESS),
        round_trip_ms=written,
        first_byte_ms=0.0,
        download_ms=0.0,
        fetches=3,
        body_bytes=0,
    )
    body = msgspec.msgpack.encode(HeartbeatBefore(passive=(before,)))
    (read,) = msgspec.msgpack.decode(body, type=Heartbeat).passive
    assert (read.round_trip_ms, read.first_byte_ms, read.download_ms) == (None, None, None)


def test_an_older_coordinator_can_read_what_it_is_told_and_hears_of_no_zero() -> None:
    everything = [passive(None), passive(5.0), passive(5.0, first_byte_ms=None)]
    older = msgspec.msgpack.decode(
        msgspec.msgpack.encode(Heartbeat(passive=encode_missing_times(1, everything))),
        type=HeartbeatBefore,
    )
    assert [seen.round_trip_ms for seen in older.passive] == [5.0]
    assert encode_missing_times(PROTOCOL, everything) == tuple(everything)


def test_a_coordinator_that_states_no_protocol_speaks_the_first() -> None:
    told = msgspec.msgpack.encode({"orders": [], "server_time_ms": 1, "epoch": 0, "lease_s": 60.0})
    assert msgspec.msgpack.decode(told, type=Orders).protocol == 1

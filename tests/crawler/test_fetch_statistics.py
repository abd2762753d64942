"""What the fetches of a site have shown, summed up."""

from __future__ import annotations

import ipaddress

from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchFailed, Headers, Timings
from ipmicra.model.urls import Site

ADDRESS = ipaddress.ip_address("192.0.2.1")


def answered(first_byte_ms: float) -> Fetched:
    timings = Timings(
        round_trip_ms=7.0,
        round_trip_is_kernel=True,
        dns_ms=None,
        connect_ms=None,
        tls_ms=None,
        first_byte_ms=first_byte_ms,
        download_ms=2 * first_byte_ms,
    )
    return Fetched(
        url="http://a.org/",
        status=200,
        headers=Headers([]),
        body=b"",
        truncated=False,
        body_skipped=False,
        address=ADDRESS,
        http_version="1.1",
        reused=True,
        bytes_on_wire=100,
        timings=timings,
    )


def test_times_are_means_of_the_answers_and_failures_do_not_make_a_site_look_fast() -> None:
    failed = FetchFailed(
        url="http://a.org/x",
        kind=FailureKind.RESET,
        detail="",
        address=ADDRESS,
        round_trip_ms=5.0,
        bytes_on_wire=50,
    )
    seen, more = (
        FetchStatistics(Site("http://a.org"), str(ADDRESS)),
        FetchStatistics(Site("http://a.org"), str(ADDRESS)),
    )
    seen.add(answered(10.0))
    more.add(answered(30.0))
    more.add(failed)
    more.add(failed)
    seen.merge(more)
    record = seen.record(1)
    assert (record.fetches, record.body_bytes, record.round_trip_us) == (4, 300, 5_000)
    assert (record.first_byte_ms, record.download_ms) == (20.0, 40.0)

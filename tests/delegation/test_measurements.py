"""What is remembered of round trips, and what is forgotten."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.addresses import AddressRange
from ipmicra.delegation.evidence.measurements import Measurements
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Source

A, B = CrawlerId("a"), CrawlerId("b")
PLACE = AddressRange.parse("192.0.2.0/24")
ADDRESS = ipaddress.ip_address("192.0.2.1")


def taught(*round_trips_ms: float | None, source: Source = Source.ACTIVE) -> Measurements:
    memory = Measurements()
    for at_s, round_trip_ms in enumerate(round_trips_ms):
        memory.learn(PLACE, Measurement(A, ADDRESS, round_trip_ms, float(at_s), source))
    return memory


def test_a_record_has_latest_least_smoothed_spread_age_and_source() -> None:
    record = taught(20.0, 28.0, 20.0).of(PLACE)[A]
    assert (record.latest_ms, record.least_ms, record.smoothed_ms) == (20.0, 20.0, 20.875)
    assert 0 < record.spread_ms < 8
    assert record.age_s(10.0) == 8.0
    assert (record.active_count, record.passive_count) == (3, 0)
    assert taught(5.0, source=Source.PASSIVE).of(PLACE)[A].passive_count == 1


def test_steady_times_have_no_spread_and_jumping_ones_have() -> None:
    assert taught(*[20.0] * 9).of(PLACE)[A].spread_ms == 0.0
    assert taught(*[10.0, 30.0] * 9).of(PLACE)[A].spread_ms == pytest.approx(10.0, abs=3.0)


def test_silence_is_counted_and_an_answer_ends_it() -> None:
    assert taught(20.0, None, None).of(PLACE)[A].silences_in_row == 2
    assert taught(20.0, None, 21.0).of(PLACE)[A].silences_in_row == 0


def test_the_place_longest_untouched_is_forgotten_first() -> None:
    memory = Measurements(places_max=3)
    places = [AddressRange.parse(f"192.0.{number}.0/24") for number in range(5)]
    for place in places[:3]:
        memory.learn(place, Measurement(A, ADDRESS, 9.0, 0.0))
    assert memory.of(places[0])  # asked for: stays
    for place in places[3:]:
        memory.learn(place, Measurement(A, ADDRESS, 9.0, 0.0))
    assert [bool(memory.of(place)) for place in places] == [True, False, False, True, True]
    assert len(memory) == 3


def test_a_crawler_that_is_gone_is_forgotten_everywhere() -> None:
    memory = taught(20.0)
    memory.learn(PLACE, Measurement(B, ADDRESS, 30.0, 0.0))
    memory.forget_crawler(A)
    assert list(memory.of(PLACE)) == [B]
    memory.forget_crawler(B)
    assert len(memory) == 0


ranges = st.one_of(
    st.integers(0, 2**32 - 1).map(lambda value: AddressRange(4, value, value + 1)),
    st.integers(0, 2**128 - 1).map(lambda value: AddressRange(6, value, value + 1)),
)


@given(
    st.lists(
        st.tuples(
            ranges, st.sampled_from([A, B]), st.none() | st.floats(0.1, 999), st.sampled_from(Source)
        ),
        max_size=30,
    )
)
def test_a_memory_comes_back_from_its_bytes_as_it_was(
    learnt: list[tuple[AddressRange, CrawlerId, float | None, Source]],
) -> None:
    memory = Measurements()
    for at_s, (place, crawler, round_trip_ms, source) in enumerate(learnt):
        memory.learn(
            place, Measurement(crawler, place.first_address(), round_trip_ms, float(at_s), source)
        )
    again = Measurements.from_bytes(memory.to_bytes())
    assert list(again.records()) == list(memory.records())
    assert again.to_bytes() == memory.to_bytes()

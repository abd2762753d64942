"""Round trips, active and passive -> what each crawler remembers about each address range.

A range is that of a subnet, or of one address. For each crawler and range one record stays: latest, least and
smoothed round trip, its deviation, its age, and the number of active and passive measurements.

Invariant: bounded. When full, the least recently used range is dropped with all its records. Ranges, not
subnet ids, so that records outlive the tree they were learnt with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Source

# TCP's gains for its smoothed round trip and its deviation (RFC 6298, 2.3): about eight samples of memory.
SMOOTHING_GAIN = 1 / 8
SPREAD_GAIN = 1 / 4


class RoundTripRecord(msgspec.Struct):
    """The round trips from one crawler to one range."""

    place: tuple[int, str, str]  # family, start and end as text: an IPv6 bound does not fit 64 bits
    crawler: CrawlerId
    latest_ms: float | None = None
    least_ms: float | None = None
    smoothed_ms: float | None = None
    spread_ms: float = 0.0  # mean absolute deviation from the smoothed value
    latest_at_s: float = 0.0
    active_count: int = 0
    passive_count: int = 0
    silences_in_row: int = 0

    def learn(self, round_trip_ms: float | None, at_s: float, source: Source) -> None:
        self.latest_at_s = max(self.latest_at_s, at_s)
        self.active_count += source is Source.ACTIVE
        self.passive_count += source is Source.PASSIVE
        if round_trip_ms is None:
            self.silences_in_row += 1
            return
        self.silences_in_row = 0
        self.latest_ms = round_trip_ms
        if self.smoothed_ms is None or self.least_ms is None:
            self.smoothed_ms = self.least_ms = round_trip_ms
            return
        self.least_ms = min(self.least_ms, round_trip_ms)
        self.spread_ms += SPREAD_GAIN * (abs(round_trip_ms - self.smoothed_ms) - self.spread_ms)
        self.smoothed_ms += SMOOTHING_GAIN * (round_trip_ms - self.smoothed_ms)

    def age_s(self, now_s: float) -> float:
        return now_s - self.latest_at_s


class Measurements:
    """Range -> crawler -> record; at most `places_max` ranges."""

    def __init__(self, places_max: int = 100_000) -> None:
        self.places_max = places_max
        self._places: dict[AddressRange, dict[CrawlerId, RoundTripRecord]] = {}

    def learn(self, place: AddressRange, measurement: Measurement) -> None:
        """Store a measurement of the range."""
        records = self._places.pop(place, None)
        if records is None:
            records = {}
            while len(self._places) >= self.places_max:
                del self._places[next(iter(self._places))]
        self._places[place] = records
        crawler = measurement.crawler
        if crawler not in records:
            records[crawler] = RoundTripRecord(_as_text(place), crawler)
        records[crawler].learn(measurement.round_trip_ms, measurement.at_s, measurement.source)

    def of(self, place: AddressRange) -> Mapping[CrawlerId, RoundTripRecord]:
        """The records of a range. A lookup keeps it from being dropped."""
        records = self._places.pop(place, None)
        if records is None:
            return {}
        self._places[place] = records
        return records

    def of_address(self, address: IPAddress) -> Mapping[CrawlerId, RoundTripRecord]:
        return self.of(AddressRange.of_address(address))

    def forget_crawler(self, crawler: CrawlerId) -> None:
        """The crawler is gone or has moved: its round trips are not valid any more."""
        for records in self._places.values():
            records.pop(crawler, None)
        self._places = {place: records for place, records in self._places.items() if records}

    def records(self) -> Iterator[RoundTripRecord]:
        """Everything, longest untouched place first: `remember` of these makes an equal memory."""
        for records in self._places.values():
            yield from records.values()
        """All records, least recently used range first: `remember` of these gives an equal store."""

    def to_bytes(self) -> bytes:
        return msgspec.msgpack.encode(list(self.records()))

    @classmethod
    def from_bytes(cls, data: bytes, places_max: int = 100_000) -> Measurements:
        memory = cls(places_max)
        memory.remember(msgspec.msgpack.decode(data, type=list[RoundTripRecord]))
        return memory

    def remember(self, records: Iterable[RoundTripRecord]) -> None:
        for record in records:
            self._places.setdefault(_as_range(record.place), {})[record.crawler] = record
        while len(self._places) > self.places_max:
            del self._places[next(iter(self._places))]

    def __len__(self) -> int:
        return len(self._places)


def _as_text(place: AddressRange) -> tuple[int, str, str]:
    return place.family, str(place.start), str(place.end)


def _as_range(text: tuple[int, str, str]) -> AddressRange:
    family, start, end = text
    return AddressRange(4 if family == 4 else 6, int(start), int(end))

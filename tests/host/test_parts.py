"""The dock's parts, one table or story each: rules, rest, rates, sequences, keys, states."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.errors import HostFault, OperatorFault
from ipmicra.host import site_state_file
from ipmicra.host.coordinator_client import Backoff, checked_coordinator
from ipmicra.host.identity import make_key, read_key
from ipmicra.host.limits.admission import AdmissionInputs, blocked_reason, ends_soon, may_deliver
from ipmicra.host.limits.token_bucket import TokenBucket
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.settings import HostSettings, checked, describe_maximum_usage, describe_rules
from ipmicra.host.store import Contact, HeldSite, HostStore
from ipmicra.model.ids import LeaseEpoch, SiteEpoch
from ipmicra.model.urls import Site
from ipmicra.protocol.host_messages import OrderDone

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ({"bytes_per_day_max": 10, "bytes_per_month_max": 5}, "more than"),
        ({"memory_bytes_max": 1 << 20}, "memory_bytes_max"),
        ({"disk_bytes_max": 1}, "disk_bytes_max"),
        ({"connections_max": 0}, "connections_max"),
        ({"upload_bytes_per_second_max": -1}, "upload"),
        ({"cpu_share_max": 0.0}, "cpu_share_max"),
        ({"hours": "sometimes"}, "hours"),
        ({"time_zone": "Mars/Base"}, "time zone"),
        ({"own_sites": ["example.org"]}, "own_sites"),
        ({"position": "Oslo"}, "position"),
        ({"position": "10.8"}, "position"),
        ({"position": "59.9, nan"}, "position"),
        ({"position": "91, 0"}, "position"),
    ],
)
def test_rules_that_contradict_themselves_are_refused(rules: dict[str, object], complaint: str) -> None:
    with pytest.raises(OperatorFault, match=complaint):
        checked(msgspec.convert(rules, HostSettings))


@pytest.mark.parametrize(
    ("told", "read"), [("", None), (" 59.9, 10.8 ", (59.9, 10.8)), ("-12,-77", (-12, -77))]
)
def test_where_the_machine_stands_is_read_as_the_owner_tells_it(
    told: str, read: tuple[float, float] | None
) -> None:
    assert checked(HostSettings(position=told)).coordinates() == read


def test_the_defaults_are_in_order_and_can_be_said_in_words() -> None:
    words = describe_rules(checked(HostSettings()))
    assert words["hours"] == "always (UTC)"
    assert words["a day"] == "no limit"
    assert words["memory"] == "536,870,912 bytes"


@pytest.mark.parametrize("connections", [1, 2, 7, 200])
def test_connections_in_use_and_kept_are_no_more_than_allowed(connections: int) -> None:
    rules = HostSettings(connections_max=connections)
    kept = rules.connections_max - rules.connections_in_use_max()
    assert rules.connections_in_use_max() + kept == connections
    assert 1 <= rules.sites_open_max() <= connections


@pytest.mark.parametrize(
    ("rules", "facts", "reason"),
    [
        ({}, {}, None),
        ({"hours": "22:00-06:00"}, {}, "outside of its hours"),
        ({"hours": "mon 12:00-13:00"}, {}, None),
        ({}, {"paused_by_owner": True}, "paused by its owner"),
        ({}, {"paused_by_coordinator": "x"}, "paused by the coordinator: x"),
        ({}, {"paused_by_owner": True, "paused_by_coordinator": "x"}, "paused by its owner"),
        ({"bytes_per_day_max": 100}, {"bytes_today": 99}, None),
        ({"bytes_per_day_max": 100}, {"bytes_today": 100}, "daily limit"),
        ({"bytes_per_month_max": 100}, {"bytes_this_month": 100}, "monthly limit"),
        ({"disk_bytes_max": 100}, {"disk_bytes": 100}, "disk"),
        ({}, {"retiring": True}, "retiring"),
    ],
)
def test_when_and_why_a_host_rests(
    rules: dict[str, object], facts: dict[str, object], reason: str | None
) -> None:
    found = blocked_reason(msgspec.convert(rules, HostSettings), AdmissionInputs(**facts), NOON)  # type: ignore[arg-type] # rows
    assert found is None if reason is None else reason in str(found)


def test_a_full_disk_or_the_coordinators_pause_keep_no_package_back_but_the_owner_does() -> None:
    rules = HostSettings(hours="mon 12:00-13:00")
    assert may_deliver(rules, AdmissionInputs(disk_bytes=1 << 40, paused_by_coordinator="x"), NOON)
    assert not may_deliver(rules, AdmissionInputs(paused_by_owner=True), NOON)
    assert not may_deliver(rules, AdmissionInputs(), NOON.replace(hour=13))


def test_the_last_seconds_of_a_span_are_for_ending() -> None:
    rules = HostSettings(hours="mon 11:00-13:00")
    assert not ends_soon(rules, NOON)
    assert ends_soon(rules, NOON.replace(minute=59, second=57))
    assert not ends_soon(rules, NOON.replace(minute=59, second=56))


@given(
    st.floats(1, 1e6),
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1e6)), min_size=1, max_size=30),
)
def test_the_mean_stays_below_the_rate(rate: float, steps: list[tuple[float, float]]) -> None:
    throttle, now, total = TokenBucket(rate), 0.0, 0.0
    for pause, amount in steps:
        now += pause + throttle.seconds_to_wait(now + pause)
        throttle.consume(amount, now)
        total += amount
    now += throttle.seconds_to_wait(now)
    assert total <= (now + 1.0) * rate * 1.0001 + 1e-6  # a second's burst is allowed


def test_a_rate_of_zero_is_no_limit() -> None:
    throttle = TokenBucket(0)
    throttle.consume(1e12, 0)
    assert throttle.seconds_to_wait(0) == 0


def test_sequence_numbers_rise_across_restarts_even_when_nothing_was_written_at_the_end(
    tmp_path: Path,
) -> None:
    given_out: list[int] = []
    for count in (3, 150, 1):
        store = HostStore(tmp_path)
        given_out += [store.next_sequence("orders") for _ in range(count)]
        store.close()
    assert given_out == sorted(set(given_out))
    assert given_out[0] >= 1


def test_an_order_is_reported_once_and_known_ever_after(tmp_path: Path) -> None:
    store = HostStore(tmp_path)
    store.record_order(OrderDone(number=7, detail="first"))
    store.record_order(OrderDone(number=7, detail="second"))
    (done,) = store.unreported(10)
    assert done.detail == "first"
    store.mark_reported([done])
    assert store.unreported(10) == []
    assert store.is_done(7)
    store.close()


def test_a_site_that_was_given_up_is_not_taken_again_in_the_same_or_an_earlier_epoch(
    tmp_path: Path,
) -> None:
    store = HostStore(tmp_path)
    assert store.add_site(HeldSite("https://a.example", SiteEpoch(4), ""))
    assert store.add_site(HeldSite("https://a.example", SiteEpoch(4), ""))  # more links of a held site
    store.release_site("https://a.example", SiteEpoch(4), None)
    assert not store.add_site(HeldSite("https://a.example", SiteEpoch(3), ""))
    assert not store.add_site(HeldSite("https://a.example", SiteEpoch(4), ""))
    assert store.add_site(HeldSite("https://a.example", SiteEpoch(5), ""))
    store.close()


def test_packages_belong_to_the_epoch_in_which_they_were_made(tmp_path: Path) -> None:
    store = HostStore(tmp_path)
    assert store.epoch() is None
    store.begin_epoch(LeaseEpoch(0), 1)
    store.begin_epoch(LeaseEpoch(2), 9)
    assert [store.epoch_of(number) for number in (1, 8, 9, 100)] == [0, 0, 2, 2]
    assert store.epoch() == 2
    store.close()


def test_days_are_the_owners_and_bytes_add_up(tmp_path: Path) -> None:
    store = HostStore(tmp_path)
    store.add_contacts([Contact("2026-11-01", "192.0.2.1", "https://a.example", "fetch", 1, 70, 7)])
    now = datetime(2026, 11, 16, 23, 30, tzinfo=UTC)
    meter = UsageMeter(store, HostSettings(time_zone="Europe/Athens"), lambda: now)
    assert meter.today() == "2026-11-17"
    meter.record_contact("192.0.2.1", "https://a.example", "fetch")
    assert [contact.bytes_in for contact in store.contacts("2026-11-17")] == [0]  # before the packet
    meter.record_bytes("192.0.2.1", "https://a.example", "fetch", 1000, 10)
    meter.record_bytes("192.0.2.1", "https://a.example", "fetch", 1000, 10)
    assert meter.used_bytes() == (2020, 2097)
    meter.flush()
    (contact,) = store.contacts("2026-11-17")
    assert (contact.contacts, contact.bytes_in, contact.bytes_out) == (2, 2000, 20)
    now = datetime(2026, 11, 30, 22, 30, tzinfo=UTC)  # December in Athens
    assert meter.used_bytes() == (0, 0)
    store.close()


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    path = tmp_path / "identity.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key(tmp_path).private_bytes_raw() == key.private_bytes_raw()
    with pytest.raises(FileExistsError):
        make_key(tmp_path)
    path.chmod(0o644)
    with pytest.raises(HostFault, match="chmod"):
        read_key(tmp_path)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=20), st.data())
def test_a_state_comes_back_whole_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("states")
    name = site_state_file.write_state(folder, Site("https://a.example"), SiteEpoch(3), iter(chunks))
    assert name is not None
    written = (folder / name).read_bytes()
    assert list(site_state_file.chunks_in(written)) == chunks
    cut = data.draw(st.integers(1, len(written) - 1))
    try:
        read = list(site_state_file.chunks_in(written[:cut]))
    except HostFault:
        return
    assert read == chunks, "a state that was cut short was taken for a whole one"


def test_a_site_without_a_state_has_no_file(tmp_path: Path) -> None:
    assert (
        site_state_file.write_state(tmp_path, Site("https://a.example"), SiteEpoch(3), iter(())) is None
    )
    assert list(tmp_path.iterdir()) == []


def test_waits_grow_with_failures_and_differ_between_hosts() -> None:
    one, other = Backoff(Random(1)), Backoff(Random(2))
    waits = [one.next_delay_seconds() for _ in range(20)]
    assert waits[0] <= 1 < waits[4]
    assert max(waits) <= 300
    assert waits != [other.next_delay_seconds() for _ in range(20)]
    one.reset()
    assert one.next_delay_seconds() <= 1


@pytest.mark.parametrize("address", ["ftp://a.example", "a.example", "http://a.example", "https://"])
def test_a_coordinator_elsewhere_is_reached_by_tls_only(address: str) -> None:
    with pytest.raises(OperatorFault):
        checked_coordinator(address)


@pytest.mark.parametrize("address", ["https://a.example/", "http://127.0.0.1:8000", "http://[::1]:80"])
def test_good_addresses_of_coordinators(address: str) -> None:
    assert checked_coordinator(address) == address.rstrip("/")


def test_an_owner_is_told_what_the_rules_can_cost_at_the_very_most() -> None:
    rules = HostSettings(hours="mon-fri 22:00-06:00", bytes_per_day_max=1_000_000_000, cpu_share_max=0.5)
    told = describe_maximum_usage(rules)
    assert told["at work"] == "40 of 168 hours a week"
    assert told["traffic a month"] == "31.0 GB"
    assert told["processor"] == "20 hours of one processor a week"
    assert describe_maximum_usage(HostSettings())["traffic a month"] == "no limit is set"

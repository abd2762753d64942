"""What the router decides, without its wires: delay, loss, queues, NAT, faults, and its own lateness."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.addresses import AddressRange
from ipmicra.lab.box.network.address_owners import AddressOwners
from ipmicra.lab.box.network.forwarding import Forwarding
from ipmicra.lab.box.network.lateness import BINS, FIRST_BIN_MS, Lateness
from ipmicra.lab.box.network.packets import is_call, pair_of
from ipmicra.lab.box.network.plan import Effect, Endpoint, NetworkFault, NetworkLink, NetworkPlan
from ipmicra.lab.box.network.queues import DropTail
from tests.lab.box.packets_made import ACK, SYN, SYN_ACK, datagram, ping, segment

SITE, CRAWLER, OTHER = "20.0.0.1", "30.0.0.1", "40.0.0.1"
SITE_6, CRAWLER_6 = "2600:0:1400:1::1", "2600:0:1e00:1::1"
FAR_S, NEAR_S = 0.1, 0.01


def plan(**changed: object) -> NetworkPlan:
    """A site (wire 0), a crawler behind NAT (wire 1), another that admits calls (wire 2)."""
    fields: dict[str, object] = {
        "endpoints": (
            Endpoint("site", 0, ("20.0.0.0/24", SITE_6), (0,)),
            Endpoint("crawler", 1, (CRAWLER, CRAWLER_6), (1,), admits_calls=False),
            Endpoint("other", 2, (OTHER,), (2,)),
        ),
        "one_way_s": ((0.0, FAR_S, NEAR_S), (FAR_S, 0.0, 0.2), (NEAR_S, 0.2, 0.0)),
    }
    return NetworkPlan(**{**fields, **changed})  # type: ignore[arg-type]  # fields by name


def network(**changed: object) -> Forwarding:
    return Forwarding(plan(**changed), Random(1))


def left(net: Forwarding, until_s: float = 1e9) -> list[tuple[float, int]]:
    return [(departure.due_s, departure.path.wire) for departure in net.departures(until_s)]


@pytest.mark.parametrize(
    ("wire", "packet", "out", "delay_s"),
    [
        (1, segment(CRAWLER, SITE, SYN), 0, FAR_S),
        (0, segment("20.0.0.77", CRAWLER, SYN_ACK), 1, FAR_S),
        (2, segment(OTHER, SITE, SYN), 0, NEAR_S),
        (1, segment(CRAWLER_6, SITE_6, SYN), 0, FAR_S),
        (2, segment(OTHER, CRAWLER, ACK), 1, 0.2),
    ],
)
def test_a_packet_leaves_by_its_receivers_wire_after_the_delay_of_the_pair(
    wire: int, packet: bytes, out: int, delay_s: float
) -> None:
    net = network()
    net.on_packet(wire, packet, 5.0)
    assert left(net, 5.0 + delay_s - 1e-9) == []
    assert left(net, 5.0 + delay_s) == [(5.0 + delay_s, out)]


@pytest.mark.parametrize(
    ("wire", "packet"),
    [
        (1, segment(CRAWLER, "50.0.0.1")),  # without an owner
        (2, segment(CRAWLER, SITE)),  # by a wire that is not its sender's
        (1, b""),
        (1, b"\x00" * 60),
        (1, b"\x45" + b"\xff" * 8),
    ],
)
def test_what_belongs_nowhere_is_dropped_and_counted(wire: int, packet: bytes) -> None:
    net = network()
    net.on_packet(wire, packet, 0.0)
    assert left(net) == []
    assert net.dropped == {"nowhere": 1}


def test_one_address_in_many_places_is_near_to_everybody() -> None:
    ends = (Endpoint("anycast", 0, ("1.1.1.1",), (0, 1)), Endpoint("crawler", 1, (CRAWLER,), (2,)))
    net = network(endpoints=ends)
    net.on_packet(1, segment(CRAWLER, "1.1.1.1", SYN), 0.0)
    assert left(net) == [(NEAR_S, 0)]


def test_a_black_hole_takes_everything_and_no_healing_helps() -> None:
    hole = Endpoint("hole", 0, ("20.0.0.0/24",), (0,), answers=False)
    net = network(endpoints=(hole, *plan().endpoints[1:]))
    net.heal(0.0)
    net.on_packet(1, segment(CRAWLER, SITE, SYN), 0.0)
    assert left(net) == []
    assert net.dropped == {"cut": 1}


@pytest.mark.parametrize(
    ("packet", "comes_in"),
    [
        (segment(OTHER, CRAWLER, SYN), False),
        (segment(OTHER, CRAWLER, SYN_ACK), True),
        (segment(SITE_6, CRAWLER_6, SYN), False),
        (ping(OTHER, CRAWLER), False),
        (datagram(OTHER, CRAWLER, 53, 5_000), False),
    ],
)
def test_nat_admits_answers_and_no_calls(packet: bytes, comes_in: bool) -> None:
    net = network()
    net.on_packet(0 if packet[0] >> 4 == 6 else 2, packet, 0.0)
    assert bool(left(net)) is comes_in
    assert net.dropped["nat"] == (not comes_in)


def test_nat_lets_datagrams_in_after_one_went_out_and_forgets_them() -> None:
    net = network()
    net.on_packet(1, datagram(CRAWLER, SITE, 5_000, 53), 0.0)
    net.on_packet(0, datagram(SITE, CRAWLER, 53, 5_000), 1.0)
    net.on_packet(0, datagram(SITE, CRAWLER, 53, 5_001), 1.0)
    assert [wire for _, wire in left(net)] == [0, 1]
    net.on_packet(0, datagram(SITE, CRAWLER, 53, 5_000), 500.0)
    assert net.dropped["nat"] == 2


def test_faults_begin_and_end_at_their_times_and_hit_both_directions() -> None:
    cut = NetworkFault(1.0, 2.0, frozenset({0}), frozenset({1}), Effect.CUT)
    slow = NetworkFault(3.0, 4.0, frozenset({1}), frozenset({0}), Effect.ADDED, 0.5)
    net = network(faults=(cut, slow))
    net.on_packet(1, segment(CRAWLER, SITE), 1.5)
    assert left(net) == [(1.6, 0)], "faults count from the beginning, which was not yet"
    net.begin(10.0)
    for at_s in (10.5, 11.5, 12.5, 13.5, 14.5):
        net.on_packet(1, segment(CRAWLER, SITE), at_s)
        net.on_packet(0, segment(SITE, CRAWLER), at_s)
        net.on_packet(2, segment(OTHER, SITE), at_s)
    went = [due_s for due_s, wire in left(net) if wire == 1]
    assert went == pytest.approx([10.6, 12.6, 14.1, 14.6])
    assert net.dropped["cut"] == 2


def test_faults_can_be_inflicted_and_healed_at_once() -> None:
    net = network()
    net.inflict(NetworkFault(0.0, 9.0, frozenset({0}), frozenset({1, 2}), Effect.CUT), 5.0)
    net.on_packet(1, segment(CRAWLER, SITE), 6.0)
    net.heal(7.0)
    net.on_packet(1, segment(CRAWLER, SITE), 7.0)
    assert left(net) == [(7.1, 0)]


@given(st.integers(0, 1_000), st.floats(0.0, 0.9))
def test_the_share_that_is_lost_is_the_share_that_was_asked_for(seed: int, loss: float) -> None:
    net = Forwarding(plan(loss=loss), Random(seed))
    for number in range(400):
        net.on_packet(1, segment(CRAWLER, SITE), float(number))
    assert len(left(net)) + net.dropped["lost"] == 400
    assert net.dropped["lost"] / 400 == pytest.approx(loss, abs=0.15)


times = st.lists(st.floats(0.0, 0.05), min_size=1, max_size=60)


@given(times, st.floats(0.0, 0.5), st.floats(0.0, 0.3), st.integers(0, 99))
def test_nothing_is_early_nothing_vanishes_and_a_pair_stays_in_order(
    gaps: list[float], jitter_s: float, loss: float, seed: int
) -> None:
    limited = Endpoint("site", 0, ("20.0.0.0/24",), (0,), NetworkLink(20_000.0, 10_000.0, 0.1))
    ends = (limited, *plan().endpoints[1:])
    net = Forwarding(plan(endpoints=ends, jitter_s=jitter_s, loss=loss), Random(seed))
    now_s, came = 0.0, 0
    for number, gap in enumerate(gaps):
        now_s += gap
        net.on_packet(1, segment(CRAWLER, SITE, data=number.to_bytes(2, "big")), now_s)
        came += 1
    gone = list(net.departures(1e9))
    assert came == len(gone) + net.dropped["lost"] + net.dropped["queue"]
    numbers = [int.from_bytes(departure.packet[-2:], "big") for departure in gone]
    assert numbers == sorted(numbers)
    assert [departure.due_s for departure in gone] == sorted(departure.due_s for departure in gone)
    assert all(departure.due_s >= FAR_S for departure in gone)
    carried = net.paths.carried[1, 0]
    assert (carried.packets, carried.packet_bytes) == (len(gone), sum(len(d.packet) for d in gone))


@given(
    st.lists(st.tuples(st.floats(0.0, 0.2), st.integers(40, 1_500)), min_size=1, max_size=80),
    st.floats(1_000, 100_000),
    st.floats(0.0, 1.0),
)
def test_a_link_never_carries_more_than_its_rate_nor_keeps_more_than_its_queue(
    arrivals: list[tuple[float, int]], bytes_per_s: float, queue_s: float
) -> None:
    link, now_s, free_s = DropTail(bytes_per_s, queue_s), 0.0, 0.0
    for gap_s, size in arrivals:
        now_s += gap_s
        waits_s = max(0.0, free_s - now_s)
        leaves_s = link.leaves_at(now_s, size)
        if waits_s > queue_s + 1e-9:
            assert leaves_s is None
        elif leaves_s is not None:
            assert leaves_s == pytest.approx(max(now_s, free_s) + size / bytes_per_s)
            free_s = leaves_s
        else:
            assert waits_s > queue_s - 1e-9


def test_packets_from_far_and_near_share_a_downlink_in_order_of_their_arrival_there() -> None:
    slow = NetworkLink(0.0, 1_000.0, 10.0)
    ends = (*plan().endpoints[:2], Endpoint("other", 2, (OTHER,), (2,), slow))
    net = network(endpoints=ends)
    net.on_packet(1, segment(CRAWLER, OTHER), 0.0)  # 0.2 s away
    net.on_packet(0, segment(SITE, OTHER), 0.0)  # 0.01 s away: it is there first
    first, second = left(net)
    assert first == pytest.approx((0.01 + 0.04, 2))
    assert second == pytest.approx((0.2 + 0.04, 2))


@given(st.binary(max_size=80))
def test_no_bytes_are_too_strange(data: bytes) -> None:
    net = network()
    net.on_packet(1, data, 0.0)
    assert len(left(net)) + sum(net.dropped.values()) == 1
    if pair_of(data):
        is_call(data)


@given(st.integers(0, 255), st.integers(0, 255))
def test_an_address_belongs_to_the_prefix_that_holds_it(third: int, last: int) -> None:
    blocks = {"20.0.0.0/24": 0, "20.0.2.0/23": 1, "20.0.9.9": 2}
    owners = AddressOwners([Endpoint(str(n), 0, (block,), (0,)) for block, n in blocks.items()])
    address = AddressRange.parse(f"20.0.{third}.{last}")
    holders = [n for block, n in blocks.items() if AddressRange.parse(block).encloses(address)]
    assert owners.owner(4, address.start) == (holders[0] if holders else None)


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=200))
def test_lateness_counts_every_packet_and_blames_for_no_more_than_was_seen(late_s: list[float]) -> None:
    lateness = Lateness()
    for each in late_s:
        lateness.record(each)
    assert lateness.total == len(late_s)
    assert lateness.greatest_ms == pytest.approx(max(late_s) * 1e3)
    for limit_ms in (FIRST_BIN_MS, 1.0, 16.0):
        truly = sum(each * 1e3 >= limit_ms * (1 - 1e-12) for each in late_s) / len(late_s)
        assert lateness.share_from(limit_ms) <= truly + 1e-12
    assert lateness.share_from(FIRST_BIN_MS * 2**BINS) == 0.0


def test_a_later_report_can_be_told_from_an_earlier_one() -> None:
    before, after = Lateness(), Lateness()
    for lateness, times_s in ((before, [0.0, 0.02]), (after, [0.0, 0.02, 0.0, 0.0])):
        for each in times_s:
            lateness.record(each)
    since = after.since(before)
    assert since.total == 2
    assert since.share_from(1.0) == 0.0

"""The names of a registrar, and those that its neighbours list."""

from __future__ import annotations

from ipmicra.overlay.can.sites.registrations import Registrations
from ipmicra.protocol.overlay_messages import PeerId, PeerMeasurement, SiteRecord

HERE, THERE = (0.0, 0.0), (1.0, 1.0)
OURS, OTHERS = SiteRecord("s.example", HERE, HERE), SiteRecord("s.example", THERE, THERE)


def test_our_own_name_counts_before_what_a_neighbour_lists() -> None:
    names = Registrations()
    assert names.first_of("s.example") is None
    names.refresh([OTHERS], now_s=1.0)
    assert names.first_of("s.example") == OTHERS
    names.store(OURS, now_s=2.0)
    assert names.first_of("s.example") == OURS


def test_only_our_own_names_are_listed_without_their_measurements() -> None:
    names = Registrations()
    names.refresh([OTHERS], now_s=1.0)
    assert names.listed() == ()
    measured = (PeerMeasurement(PeerId("a"), 3.0, HERE),)
    names.store(SiteRecord("s.example", HERE, HERE, measured=measured), now_s=1.0)
    assert names.listed() == (OURS,)


def test_a_name_that_is_not_repeated_is_forgotten_here_and_there() -> None:
    names = Registrations()
    names.store(OURS, now_s=1.0)
    names.refresh([SiteRecord("t.example", THERE, THERE)], now_s=2.0)
    names.expire(before_s=2.0)
    assert (names.first_of("s.example"), names.listed()) == (None, ())
    assert names.first_of("t.example") is not None


def test_only_a_new_name_or_a_moved_one_is_a_change() -> None:
    names = Registrations()
    for record, changes in ((OURS, 1), (OURS, 1), (OTHERS, 2)):
        names.store(record, now_s=1.0)
        assert names.changes == changes

"""Site name -> the one point in the space where the site is registered, whichever peer submits it.

A site's point is measured, so two peers that submit it would place it slightly differently, perhaps at two
homes. The owner of the key that the name hashes to, the registrar of the name, stores the first record. A
submitting peer asks the registrar and continues with the record that was registered first. Registrars list
their names to their neighbours, one of which takes over when they die (`registrations`). Homes repeat their
sites to the registrars; a home that receives another key for its site gives the site up.
"""

from __future__ import annotations

from hashlib import blake2b

from ipmicra.model.ids import DelegateEpoch
from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.sites.assignment import SiteAssignments
from ipmicra.overlay.can.sites.site_table import delegate_descriptor
from ipmicra.protocol.overlay_messages import (
    Outgoing,
    Register,
    Registered,
    ReleaseSite,
    Routed,
    SiteRecord,
)

MISSED_MAX = 3.0  # renewal intervals that a home may miss before its registration expires


class Registrar:
    """Both sides of registration, for one peer."""

    def __init__(self, state: PeerState, assignment: SiteAssignments) -> None:
        self._state = state
        self._assignment = assignment
        self._pending: dict[str, SiteRecord] = {}

    # --- submitting peers and homes -----------------------------------------------------------

    def register(self, record: SiteRecord) -> list[Outgoing]:
        """Ask where a new site is registered; repeated until an answer arrives."""
        self._pending[record.site] = record
        return [self._request(record)]

    def pending_requests(self) -> list[Outgoing]:
        """Requests without an answer, to be sent again."""
        return [self._request(record) for record in self._pending.values()]

    def renewals(self) -> list[Outgoing]:
        """Our sites, repeated to their registrars."""
        return [self._request(record) for record in self._state.site_table.home_records.values()]

    def on_registered(self, record: SiteRecord) -> list[Outgoing]:
        """The registrar's answer: the record that was registered first."""
        if self._pending.pop(record.site, None) is not None:
            return self._assignment.submit_home(record)
        mine = self._state.site_table.home_records.get(record.site)
        return [] if mine is None or mine.key == record.key else self._give_up(mine, record)

    def _give_up(self, mine: SiteRecord, first: SiteRecord) -> list[Outgoing]:
        """Another home registered the site first: drop ours, and release its delegate."""
        self._state.site_table.drop_home(mine.site)
        out = self._assignment.submit_home(first)
        if mine.delegate == self._state.id or not mine.delegate:
            return out
        return [
            *out,
            Outgoing(
                delegate_descriptor(mine),
                ReleaseSite(mine.site, DelegateEpoch(mine.epoch + 1), delegate_descriptor(first)),
            ),
        ]

    def _request(self, record: SiteRecord) -> Outgoing:
        payload = Register(record, self._state.descriptor)
        key = name_key(self._state.space, record.site)
        return Outgoing(self._state.descriptor, Routed(key, payload))

    # --- the registrar ------------------------------------------------------------------------

    def expire_names(self, now_s: float) -> None:
        """Forget the names that no home repeats any more."""
        self._state.registrations.expire(now_s - MISSED_MAX * self._state.rules.register_every_s)

    def on_register(self, request: Register, now_s: float) -> list[Outgoing]:
        """Keep the first record of a name as long as its home repeats it."""
        names = self._state.registrations
        first = names.first_of(request.record.site)
        if first is None or first.key == request.record.key:
            names.store(request.record, now_s)
            first = request.record
        return [Outgoing(request.asker, Registered(first))]


def name_key(space: ZoneBox, site: str) -> SpacePoint:
    """A point of the space that depends on the name alone."""
    digest = blake2b(site.encode(), digest_size=8 * space.dimensions).digest()
    parts = [int.from_bytes(digest[at : at + 8], "big") / 2**64 for at in range(0, len(digest), 8)]
    sides = zip(space.low, space.sides, parts, strict=True)
    return key_in(space, tuple(low + side * part for low, side, part in sides))

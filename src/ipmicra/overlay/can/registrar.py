"""A site's name -> the one place in the space where it counts as lying, whoever submits it.

A site's point is measured, so two peers that submit it would place it a little differently, perhaps in two
homes. The owner of the place that the name's hash points to, the name's registrar, remembers the first
record; whoever submits the site asks there, and goes on with what was registered first. Homes repeat their
sites to the registrars now and then, so a new registrar learns them; a home that hears of another place
for its site gives it up.
"""

from __future__ import annotations

from hashlib import blake2b

from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.can.assignment import SiteAssignments
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.site_table import delegate_card
from ipmicra.protocol.overlay_messages import (
    Outgoing,
    Register,
    Registered,
    ReleaseSite,
    Routed,
    SiteRecord,
)

MISSED_MAX = 3.0  # times that a home may be late before its registration is forgotten


class Registrar:
    """Both sides of it, of one peer."""

    def __init__(self, known: PeerState, assignment: SiteAssignments) -> None:
        self._known = known
        self._assignment = assignment
        self._registered: dict[str, tuple[SiteRecord, float]] = {}
        self._asked: dict[str, SiteRecord] = {}

    # --- whoever submits, and homes -----------------------------------------------------------

    def asked(self, record: SiteRecord) -> list[Outgoing]:
        """A site that is new to me: where does it lie? Asked again until there is an answer."""
        self._asked[record.site] = record
        return [self._question(record)]

    def asked_again(self) -> list[Outgoing]:
        return [self._question(record) for record in self._asked.values()]

    def told(self) -> list[Outgoing]:
        """My sites, to their registrars."""
        return [self._question(record) for record in self._known.book.homed.values()]

    def answered(self, record: SiteRecord) -> list[Outgoing]:
        if self._asked.pop(record.site, None) is not None:
            return self._assignment.taken_in(record)
        mine = self._known.book.homed.get(record.site)
        return [] if mine is None or mine.key == record.key else self._given_up(mine, record)

    def _given_up(self, mine: SiteRecord, first: SiteRecord) -> list[Outgoing]:
        """Another home had the site before: mine is one too many, and so is its crawler."""
        self._known.book.drop(mine.site)
        out = self._assignment.taken_in(first)
        if mine.delegate == self._known.id or not mine.delegate:
            return out
        return [
            *out,
            Outgoing(delegate_card(mine), ReleaseSite(mine.site, mine.epoch + 1, delegate_card(first))),
        ]

    def _question(self, record: SiteRecord) -> Outgoing:
        letter = Register(record, self._known.card)
        return Outgoing(self._known.card, Routed(name_key(self._known.space, record.site), letter))

    # --- the registrar ------------------------------------------------------------------------

    def registered(self, letter: Register, now_s: float) -> list[Outgoing]:
        """The first record of a name stays, as long as its home repeats it."""
        site = letter.record.site
        first, heard_s = self._registered.get(site, (letter.record, now_s))
        lasting_s = MISSED_MAX * self._known.rules.register_every_s
        if first.key == letter.record.key or now_s - heard_s > lasting_s:
            self._registered[site] = (letter.record, now_s)
            first = letter.record
        return [Outgoing(letter.asker, Registered(first))]


def name_key(space: ZoneBox, site: str) -> SpacePoint:
    """A place that depends on the name alone."""
    digest = blake2b(site.encode(), digest_size=8 * space.dimensions).digest()
    parts = [int.from_bytes(digest[at : at + 8], "big") / 2**64 for at in range(0, len(digest), 8)]
    sides = zip(space.low, space.sides, parts, strict=True)
    return key_in(space, tuple(low + side * part for low, side, part in sides))

"""Messages -> messages: one peer of the network.

A peer owns zones, knows its neighbours, passes letters on towards the owner of their key, splits its
zone for a newcomer, keeps the records of the sites whose keys lie in its zones, and takes over from a
neighbour that fell silent. Its rules are spread over the files beside this one; here they are put to
work.

Law: no clock and no socket. `now_s` comes in; what is to be sent goes out. Two peers that claim one
region (after a take-over of a peer that was only slow) settle it by name: the greater name keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import dist

import msgspec

from ipmicra.overlay.can.box import Box, Point, key_in, left_of, merged
from ipmicra.overlay.can.messages import (
    Announce,
    Card,
    Crawl,
    Gone,
    HandOver,
    Join,
    Letter,
    Locate,
    Located,
    Measure,
    Measured,
    Message,
    Outgoing,
    PeerId,
    Release,
    Rival,
    Routed,
    SiteRecord,
    Submit,
    Update,
    Welcome,
)
from ipmicra.overlay.can.nearness import HandOverRule, delegate_for, peer_to_measure
from ipmicra.overlay.can.sites import SiteBook, delegate_card, with_delegate
from ipmicra.overlay.can.splitting import Scheme, Switch, cut_for
from ipmicra.overlay.can.table import Neighbour, NeighbourTable, borders
from ipmicra.overlay.can.takeover import ZonesToClaim, zones_to_claim


@dataclass(frozen=True, slots=True)
class PeerRules:
    """How a peer behaves. Shorter times notice a crash sooner and cost messages."""

    hello_every_s: float = 5.0
    silent_after_s: float = 15.0
    announce_every_s: float = 20.0
    claim_step_s: float = 1.0  # each further candidate for a dead peer's zone waits this much longer
    hops_max: int = 200
    switch: str = "MP/slab"
    peers_expected: int = 1  # for a SWITCH scheme: what its percentage is a percentage of
    hand_over: HandOverRule | None = None  # None: the home crawls its sites itself, as in the paper


class Peer:
    """One peer. `found` or `join` first; then `handle` what arrives and call `tick` now and then."""

    def __init__(self, card: Card, space: Box, rules: PeerRules) -> None:
        self.space = space
        self.rules = rules
        self.table = NeighbourTable()
        self.book = SiteBook()
        self.probes_wanted: list[Measure] = []
        self.letters_lost = 0
        self._card = card
        self._splits = 0
        self._joined_here = 1
        self._busiest: Card | None = None
        self._offers: dict[PeerId, tuple[Box, ...]] = {}
        self._accepted: dict[PeerId, tuple[Box, ...]] = {}
        self._leaving = False
        self._next_hello_s = 0.0
        self._next_announcement_s = 0.0

    # --- who I am -----------------------------------------------------------------------------

    @property
    def card(self) -> Card:
        """My card with my load as it is now."""
        if self._card.load != self.book.load:
            self._card = self._changed(load=self.book.load)
        return self._card

    @property
    def id(self) -> PeerId:
        return self._card.peer

    @property
    def zones(self) -> tuple[Box, ...]:
        return self._card.zones

    def owns(self, key: Point) -> bool:
        return any(zone.holds(key) for zone in self.zones)

    def _changed(self, **fields: object) -> Card:
        return msgspec.structs.replace(self._card, version=self._card.version + 1, **fields)

    def _set_zones(self, zones: Iterable[Box]) -> None:
        self._card = self._changed(zones=merged(zones))

    def _add_zones(self, zones: Iterable[Box]) -> None:
        """Take zones on top of mine; what I hold already is not held twice."""
        self._set_zones([*self.zones, *left_of(zones, self.zones)])

    # --- coming and going ---------------------------------------------------------------------

    def found(self) -> None:
        """Be the first peer: own the whole space."""
        self._set_zones([self.space])

    def join(self, via: Card) -> list[Outgoing]:
        """Ask a peer that is in the network already to let me in."""
        key = key_in(self.space, self._card.point)
        return [Outgoing(via, Routed(key, Join(self._card, scheme="")))]

    def leave(self, now_s: float) -> list[Outgoing]:
        """Offer everything to the neighbour that can best use it.

        I stay until its greeting shows that it has my zones (`has_left`); a heir that keeps silent is
        followed by another.
        """
        self._leaving = True
        heir = self._heir(now_s)
        return [] if heir is None else self._offered(self.zones, heir)

    @property
    def has_left(self) -> bool:
        return self._leaving and not self.zones

    def _heir(self, now_s: float) -> Card | None:
        """A neighbour whose zone makes one box with mine; failing that, the one nearest to my zone."""
        living = self.table.alive(now_s, 2 * self.rules.hello_every_s)
        cards = [n.card for n in living if n.card.peer not in self._offers]
        fitting = [c for c in cards if any(a.joined(b) for a in c.zones for b in self.zones)]
        centre = self.zones[0].centre if self.zones else self._card.point
        return min(fitting or cards, key=lambda c: (dist(c.point, centre), c.peer), default=None)

    def _offered(self, zones: tuple[Box, ...], to: Card) -> list[Outgoing]:
        """Offer zones and the sites in them. They stay mine until the taker's greeting shows them."""
        self._offers[to.peer] = zones
        sites = tuple(r for r in self.book.homed.values() if any(z.holds(r.key) for z in zones))
        others = (self.card, *(card for card in self.table.cards() if card.peer != to.peer))
        return [Outgoing(to, HandOver(self.id, zones, sites, others))]

    def _taken_up(self, taker: Card) -> list[Outgoing]:
        """The taker has what I offered: let go of it."""
        offered = self._offers.pop(taker.peer, ())
        taken = [zone for zone in offered if any(zone.overlaps(theirs) for theirs in taker.zones)]
        if not taken:
            return []
        for record in self.book.given_away(taken):
            if self.rules.hand_over is None or self._leaving:
                self.book.lay_down(record.site, record.epoch + 1)
        self._set_zones(left_of(self.zones, taken))
        dropped = self.table.prune(self.zones)
        if self.has_left:
            return [Outgoing(card, Gone(self.id, taker)) for card in dropped if card.peer != taker.peer]
        return self._greetings([*self.table.cards(), *dropped], with_sites=False)

    # --- messages -----------------------------------------------------------------------------

    def handle(self, message: Message, now_s: float) -> list[Outgoing]:
        match message:
            case Routed():
                return self._routed(message, now_s)
            case Welcome():
                return self._welcomed(message, now_s)
            case Update():
                return self._updated(message, now_s)
            case HandOver():
                return self._inherited(message, now_s)
            case Gone():
                self.table.bury(message.leaver)
                self.table.note(message.heir, self.zones, now_s, heard=False)
                return []
            case Crawl():
                self.book.take_up(message.record)
                return []
            case Release():
                self.book.lay_down(message.site, message.epoch)
                return []
            case Measure():
                self.probes_wanted.append(message)
                return []
            case Measured():
                return self._was_measured(message)
            case Rival():
                return self._settled(message.card)
            case Located():
                return []

    def probed(self, wanted: Measure, round_trip_ms: float | None) -> list[Outgoing]:
        """The transport's answer to one of `probes_wanted`."""
        return [Outgoing(wanted.home, Measured(wanted.site, self.card, round_trip_ms))]

    def tick(self, now_s: float) -> list[Outgoing]:
        """Greet, notice silence, claim what the dead left, and review who crawls my sites."""
        out: list[Outgoing] = []
        for neighbour in self.table.silent(now_s, self.rules.silent_after_s):
            out += self._mourn(neighbour, now_s)
        if now_s >= self._next_hello_s:
            self._next_hello_s = now_s + self.rules.hello_every_s
            out += self.leave(now_s) if self._leaving else self._give_back(now_s)
            out += self._reviewed()
            out += self._greetings(self.table.cards(), with_sites=True)
        if now_s >= self._next_announcement_s:
            self._next_announcement_s = now_s + self.rules.announce_every_s
            out += self._announcements()
        return out

    # --- letters ------------------------------------------------------------------------------

    def _routed(self, routed: Routed, now_s: float) -> list[Outgoing]:
        letter = self._stamped(routed.letter)
        here = self.owns(routed.key) or (isinstance(letter, Join) and letter.passed_on)
        if here:
            return self._delivered(letter, routed, now_s)
        return self._passed_on(msgspec.structs.replace(routed, letter=letter))

    def _stamped(self, letter: Letter) -> Letter:
        """The bootstrap peer writes the splitting scheme into a join request (paper, IV.C)."""
        if isinstance(letter, Join) and not letter.scheme:
            scheme = Switch.parse(self.rules.switch).scheme_for(
                self._joined_here, self.rules.peers_expected
            )
            self._joined_here += 1
            return msgspec.structs.replace(letter, scheme=scheme)
        return letter

    def _passed_on(self, routed: Routed) -> list[Outgoing]:
        nearest = self.table.nearest_to(routed.key, routed.seen)
        if nearest is None or routed.hops >= self.rules.hops_max:
            self.letters_lost += 1
            return []
        onward = msgspec.structs.replace(routed, hops=routed.hops + 1, seen=(*routed.seen, self.id))
        return [Outgoing(nearest.card, onward)]

    def _delivered(self, letter: Letter, routed: Routed, now_s: float) -> list[Outgoing]:
        match letter:
            case Join():
                return self._admitted(letter, routed, now_s)
            case Submit():
                return self._homed_here([letter.record])
            case Announce():
                return self._announced(letter)
            case Locate():
                return [Outgoing(letter.asker, Located(letter.question, self.card, routed.hops))]

    # --- splitting ----------------------------------------------------------------------------

    def _admitted(self, join: Join, routed: Routed, now_s: float) -> list[Outgoing]:
        scheme = Scheme.parse(join.scheme)
        splitter = self._splitter(scheme) if not join.passed_on else self.card
        if splitter.peer != self.id:
            passed = msgspec.structs.replace(
                routed, letter=msgspec.structs.replace(join, passed_on=True)
            )
            return [Outgoing(splitter, passed)]
        return self._split_for(join.newcomer, scheme, now_s)

    def _splitter(self, scheme: Scheme) -> Card:
        """Whose zone is split: mine, or the most loaded one that the scheme looks at."""
        candidates = [self.card]
        if scheme.name == "NH":
            candidates += self.table.cards()
        elif scheme.name == "GH" and self._busiest is not None:
            candidates += [self._busiest]
        return max(candidates, key=lambda card: (card.load, card.peer == self.id, card.peer))

    def _split_for(self, newcomer: Card, scheme: Scheme, now_s: float) -> list[Outgoing]:
        key = key_in(self.space, newcomer.point)
        zone = next((z for z in self.zones if z.holds(key)), max(self.zones, key=lambda z: z.volume))
        keys = [r.key for r in self.book.homed.values() if zone.holds(r.key)]
        mine = key_in(self.space, self._card.point)
        cut = cut_for(scheme, zone, mine, key, keys, self._splits)
        self._splits += 1
        before = self.table.cards()
        self._set_zones([*(z for z in self.zones if z != zone), cut.kept])
        moving = self.book.given_away([cut.given])
        newcomer = msgspec.structs.replace(newcomer, zones=(cut.given,))
        moving, told = self._moved_home(moving, newcomer)
        self.table.prune(self.zones)
        self.table.note(newcomer, self.zones, now_s, heard=True)
        welcome = Welcome((cut.given,), moving, (self.card, *before), self._splits)
        greetings = self._greetings(before, with_sites=False)
        return [Outgoing(newcomer, welcome), *told, *greetings]

    def _moved_home(
        self, moving: tuple[SiteRecord, ...], to: Card
    ) -> tuple[tuple[SiteRecord, ...], list[Outgoing]]:
        """Where the home crawls its sites itself, a new home means a new delegate."""
        if self.rules.hand_over is not None:
            return moving, []
        changed = tuple(with_delegate(record, to) for record in moving)
        for record in changed:
            self.book.lay_down(record.site, record.epoch)
        return changed, []

    def _welcomed(self, welcome: Welcome, now_s: float) -> list[Outgoing]:
        if self.zones:
            return []  # a second answer to the same request
        self._set_zones(welcome.zones)
        self._splits = welcome.splits
        out = self._homed_here(welcome.sites)
        return out + self._acquainted(welcome.acquaintances, now_s)

    def _acquainted(self, cards: Iterable[Card], now_s: float) -> list[Outgoing]:
        """Note those of them who border my zones, and greet all of them."""
        others = [card for card in cards if card.peer != self.id]
        for card in others:
            self.table.note(card, self.zones, now_s, heard=False)
        known = {card.peer: card for card in (*others, *self.table.cards())}
        return self._greetings(known.values(), with_sites=True)

    # --- greetings ----------------------------------------------------------------------------

    def _greetings(self, to: Iterable[Card], with_sites: bool) -> list[Outgoing]:
        sites = tuple(self.book.homed.values()) if with_sites else None
        update = Update(self.card, tuple(self.table.cards()), sites, self._busiest_known())
        return [Outgoing(card, update) for card in to]

    def _busiest_known(self) -> Card:
        candidates = [self.card, *self.table.cards(), *([self._busiest] if self._busiest else [])]
        self._busiest = max(candidates, key=lambda card: (card.load, card.peer))
        return self._busiest

    def _updated(self, update: Update, now_s: float) -> list[Outgoing]:
        out = self._taken_up(update.card) + self._settled(update.card)
        neighbour = self.table.note(update.card, self.zones, now_s, heard=True)
        self._heard_of(update.busiest, update.card)
        for other in self._covered_by(update.card):
            self.table.forget(other.peer)
            out.append(Outgoing(other, Rival(update.card)))
        if neighbour is not None and neighbour.card.version == update.card.version:
            neighbour.neighbours = {card.peer: card for card in update.neighbours}
            if update.sites is not None:
                neighbour.sites = update.sites
        return out + self._introduced(update.neighbours, now_s)

    def _introduced(self, cards: Iterable[Card], now_s: float) -> list[Outgoing]:
        """Greet those of a neighbour's neighbours who border me and whom I do not know.

        A card whose zones somebody I know holds is a dead peer's, still going round.
        """
        out: list[Outgoing] = []
        for card in cards:
            if card.peer == self.id or card.peer in self.table or not borders(card.zones, self.zones):
                continue
            held = [zone for known in (self.card, *self.table.cards()) for zone in known.zones]
            if any(a.overlaps(b) for a in card.zones for b in held):
                continue
            if self.table.note(card, self.zones, now_s, heard=False) is not None:
                out += self._greetings([card], with_sites=True)
        return out

    def _heard_of(self, busiest: Card | None, sender: Card) -> None:
        if self._busiest is not None and self._busiest.peer == sender.peer:
            self._busiest = sender
        if busiest is not None and (self._busiest is None or busiest.load > self._busiest.load):
            self._busiest = busiest

    def _covered_by(self, card: Card) -> list[Card]:
        """Neighbours whose zones another peer now claims: taken over, or, if they live, its rivals."""
        return [
            n.card
            for n in self.table
            if n.card.peer != card.peer and any(a.overlaps(b) for a in n.card.zones for b in card.zones)
        ]

    def _settled(self, theirs: Card) -> list[Outgoing]:
        """Two claims on one region: the greater name keeps it; the other hands over what it knows."""
        disputed = [z for z in theirs.zones if any(z.overlaps(mine) for mine in self.zones)]
        accepted = self._accepted.get(theirs.peer, ())
        if not disputed or theirs.peer == self.id:
            self._accepted.pop(theirs.peer, None)
            return []
        if self.id > theirs.peer or not left_of(_shared(disputed, self.zones), accepted):
            return self._greetings([theirs], with_sites=False)
        sites = self.book.given_away(disputed)
        self._set_zones(left_of(self.zones, disputed))
        dropped = self.table.prune(self.zones)
        acquaintances = (self.card, *self.table.cards(), *dropped)
        out = [Outgoing(theirs, HandOver(self.id, (), sites, acquaintances))]
        out += self._greetings([theirs, *self.table.cards(), *dropped], with_sites=False)
        return out if self.zones else out + self.join(theirs)

    # --- taking over --------------------------------------------------------------------------

    def _inherited(self, hand_over: HandOver, now_s: float) -> list[Outgoing]:
        """Take offered zones and sites. My greeting tells the giver, who lets go of them then."""
        if hand_over.zones and self._leaving:
            return []
        self._add_zones(hand_over.zones)
        self._accepted[hand_over.leaver] = hand_over.zones
        out = self._homed_here(hand_over.sites, departed=hand_over.leaver if hand_over.zones else None)
        return out + self._acquainted(hand_over.acquaintances, now_s)

    def _mourn(self, dead: Neighbour, now_s: float) -> list[Outgoing]:
        """Claim what the dead left, when it is my turn."""
        silence_s = now_s - dead.heard_s - self.rules.silent_after_s
        turn = int(silence_s / self.rules.claim_step_s)
        claim: ZonesToClaim = zones_to_claim(self.card, dead, turn)
        if not claim.zones:
            return []
        if claim.rest:
            dead.card = msgspec.structs.replace(dead.card, zones=claim.rest)
        else:
            self.table.bury(dead.card.peer)
        living = self.table.alive(now_s, self.rules.silent_after_s)
        self._add_zones(left_of(claim.zones, [zone for n in living for zone in n.card.zones]))
        sites = [r for r in dead.sites if any(z.holds(r.key) for z in claim.zones)]
        out = self._homed_here(sites, departed=dead.card.peer)
        survivors = [c for c in dead.neighbours.values() if c.peer != dead.card.peer]
        return out + self._acquainted(survivors, now_s)

    def _give_back(self, now_s: float) -> list[Outgoing]:
        """A zone that makes one box with a neighbour's goes to that neighbour, if I have more than one."""
        self._offers = {peer: zones for peer, zones in self._offers.items() if peer in self.table}
        if len(self.zones) < 2 or self._offers:
            return []
        mine = key_in(self.space, self._card.point)
        for zone in sorted(self.zones, key=lambda z: z.volume):
            living = self.table.alive(now_s, 2 * self.rules.hello_every_s)
            takers = [n.card for n in living if any(zone.joined(z) for z in n.card.zones)]
            if zone.holds(mine) or not takers:
                continue
            taker = min(takers, key=lambda card: (card.load, card.peer))
            return self._offered((zone,), taker)
        return []

    # --- sites --------------------------------------------------------------------------------

    def _announced(self, announce: Announce) -> list[Outgoing]:
        """Somebody crawls a site that I am home to: as I say, or in error, or I had lost it."""
        known = self.book.homed.get(announce.record.site)
        if known is None:
            return self._homed_here([announce.record])
        if known.epoch > announce.record.epoch and known.delegate != announce.crawler.peer:
            return [Outgoing(announce.crawler, Release(known.site, known.epoch, delegate_card(known)))]
        return []

    def _announcements(self) -> list[Outgoing]:
        """A word to the home of each site that I crawl and am not home to."""
        out: list[Outgoing] = []
        for site, record in sorted(self.book.crawled.items()):
            if site not in self.book.homed:
                out += self._passed_on(Routed(record.key, Announce(record, self.card)))
        return out

    def _homed_here(
        self, records: Iterable[SiteRecord], departed: PeerId | None = None
    ) -> list[Outgoing]:
        """Become home to sites; those without a living delegate get one."""
        out: list[Outgoing] = []
        for record in records:
            if not self.book.adopt(record):
                continue
            if record.delegate == self.id:
                self.book.take_up(record)
            elif not record.delegate or record.delegate == departed or self.rules.hand_over is None:
                out += self._assigned(record.site, without=departed)
        return out

    def _assigned(self, site: str, without: PeerId | None = None) -> list[Outgoing]:
        """Point a site to the peer that should crawl it now, and tell those concerned."""
        rule, record = self.rules.hand_over, self.book.homed[site]
        peers = self.table.two_hops(self.card)
        if without is not None:
            peers.pop(without, None)
        best = self.id if rule is None else delegate_for(record, peers, rule)
        if best == record.delegate:
            return []
        heir, former = peers[best], delegate_card(record) if record.delegate else None
        changed = self.book.delegated(site, heir)
        out: list[Outgoing] = []
        if best == self.id:
            self.book.take_up(changed)
        else:
            out.append(Outgoing(heir, Crawl(changed, self.card)))
        if record.delegate == self.id:
            self.book.lay_down(site, changed.epoch)
        elif former is not None and former.peer != without:
            out.append(Outgoing(former, Release(site, changed.epoch, heir)))
        self._reckon(heir, former, changed.pages)
        return out

    def _reckon(self, heir: Card, former: Card | None, pages: float) -> None:
        """Count a move at once in what I believe of others' loads, before they say so themselves."""
        for card, change in ((heir, pages), (former, -pages)):
            known = self.table.get(card.peer) if card is not None else None
            if known is not None:
                known.card = msgspec.structs.replace(known.card, load=known.card.load + change)

    def _reviewed(self) -> list[Outgoing]:
        """Each of my sites once: is somebody cheaper, or worth asking?"""
        rule = self.rules.hand_over
        if rule is None:
            return []
        out: list[Outgoing] = []
        for site in sorted(self.book.homed):
            out += self._assigned(site)
            if rule.measured_max:
                out += self._asked(site, rule)
        return out

    def _asked(self, site: str, rule: HandOverRule) -> list[Outgoing]:
        peers = self.table.two_hops(self.card)
        chosen = peer_to_measure(self.book.homed[site], peers, rule)
        if chosen is None:
            return []
        wanted = Measure(site, self.card)
        if chosen == self.id:
            self.probes_wanted.append(wanted)
            return []
        return [Outgoing(peers[chosen], wanted)]

    def _was_measured(self, measured: Measured) -> list[Outgoing]:
        if measured.site not in self.book.homed:
            return []
        round_trip_ms = float("inf") if measured.round_trip_ms is None else measured.round_trip_ms
        self.book.measured(measured.site, measured.by.peer, round_trip_ms)
        out = self._assigned(measured.site)
        rule = self.rules.hand_over
        return out + (self._asked(measured.site, rule) if rule is not None else [])


def _shared(first: Iterable[Box], second: Iterable[Box]) -> list[Box]:
    """The regions that lie in both."""
    others = list(second)
    return left_of(first, left_of(first, others))

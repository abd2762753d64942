"""A site, the peers around its home and their loads -> who should crawl it.

The rule is local to the home: it looks at the peers within two hops, whose cards it has anyway. A
peer's cost is its round trip to the site (measured where it was measured, else the distance of their
coordinates) plus a price for its load: what the peer carries beyond its share of the neighbourhood's
load, times `price_ms`. The site moves only for a gain of `gain_share` of what it costs now.

Why it ends: with loads as they are, a move by this rule lowers the sum over sites of round trips plus
`price_ms / 2 * load^2 / fair share`, which is bounded below, by at least a fixed share of what the
site costs; so there are finitely many moves between two changes from outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ipmicra.overlay.can.messages import Card, PeerId, SiteRecord


@dataclass(frozen=True, slots=True)
class HandOverRule:
    """When a site leaves its home for a nearer or less loaded peer.

    A higher `price_ms` evens out loads and costs distance. `measured_max` true probes a site are spent
    where coordinates cannot tell; 0 spends none.
    """

    price_ms: float = 10.0
    gain_share: float = 0.05
    measured_max: int = 0
    worth_probing_share: float = 0.1  # probe only peers that promise to be this much cheaper


def cost_ms(record: SiteRecord, peer: Card, fair_load: float, rule: HandOverRule) -> float:
    """Round trip plus price of load, were the site with that peer."""
    known = dict(record.measured_ms)
    nearness = known.get(peer.peer, math.dist(record.point, peer.point))
    return nearness + price_of_load_ms(record, peer, fair_load, rule)


def price_of_load_ms(record: SiteRecord, peer: Card, fair_load: float, rule: HandOverRule) -> float:
    carried = peer.load if record.delegate == peer.peer else peer.load + record.pages
    share = carried / max(peer.capacity, 1e-9) / max(fair_load, 1e-9)
    return rule.price_ms * share


def fair_load_of(peers: Iterable[Card]) -> float:
    """Load for one unit of capacity if the neighbourhood's load were spread evenly."""
    cards = list(peers)
    capacity = sum(card.capacity for card in cards)
    return sum(card.load for card in cards) / capacity if capacity > 0 else 1.0


def delegate_for(record: SiteRecord, peers: Mapping[PeerId, Card], rule: HandOverRule) -> PeerId:
    """Who should crawl the site: its present delegate, unless somebody is cheaper by enough."""
    fair = fair_load_of(peers.values())
    costs = {peer: cost_ms(record, card, fair, rule) for peer, card in peers.items()}
    best = min(costs, key=lambda peer: (costs[peer], peer))
    present = costs.get(record.delegate)
    if present is not None and costs[best] >= present * (1 - rule.gain_share):
        return record.delegate
    return best


def peer_to_measure(
    record: SiteRecord, peers: Mapping[PeerId, Card], rule: HandOverRule
) -> PeerId | None:
    """The peer whose true round trip is most worth knowing, or None when none is.

    What a peer promises is the least that its round trip can be: by the coordinates, and by each
    measured peer A through |d(A, peer) - r(A)|, scaled where coordinates were off.
    """
    known = dict(record.measured_ms)
    if len(known) >= rule.measured_max:
        return None
    fair = fair_load_of(peers.values())
    known_costs = [cost_ms(record, peers[peer], fair, rule) for peer in known if peer in peers]
    best_known = min(known_costs, default=math.inf)
    promises = {
        peer: promised_ms(record, card, peers) + price_of_load_ms(record, card, fair, rule)
        for peer, card in peers.items()
        if peer not in known
    }
    best = min(promises, key=lambda peer: (promises[peer], peer), default=None)
    if best is None or promises[best] > best_known * (1 - rule.worth_probing_share):
        return None
    return best


def promised_ms(record: SiteRecord, peer: Card, peers: Mapping[PeerId, Card]) -> float:
    """The round trip that a peer promises: its coordinate distance, not below any triangle bound."""
    bounds = [
        abs(math.dist(peers[other].point, peer.point) - round_trip) / 2
        for other, round_trip in record.measured_ms
        if other in peers
    ]
    return max([math.dist(record.point, peer.point), *bounds])

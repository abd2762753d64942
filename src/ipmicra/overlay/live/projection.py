"""What peers say of themselves -> a picture of all of them on a plane."""

from __future__ import annotations

from collections.abc import Sequence

from ipmicra.overlay.can.projection import Projection, projected
from ipmicra.protocol.overlay_rpc import PeerStatus


def shown_on_a_plane(peers: Sequence[PeerStatus]) -> Projection:
    """The asked peers with their sites; of one that was asked alone, its neighbours, too."""
    cards = {card.peer: card for peer in peers for card in peer.neighbours} if len(peers) == 1 else {}
    cards |= {peer.card.peer: peer.card for peer in peers}
    counts = {peer.card.peer: len(peer.crawled) for peer in peers}
    records = [record for peer in peers for record in peer.places]
    return projected(list(cards.values()), peers[0].space, counts, records)

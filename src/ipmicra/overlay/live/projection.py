"""Status replies of peers -> all of them on a plane."""

from __future__ import annotations

from collections.abc import Sequence

from ipmicra.overlay.can.projection import Projection, projection_of
from ipmicra.protocol.overlay_rpc import PeerStatus


def peer_projection(peers: Sequence[PeerStatus]) -> Projection:
    """The queried peers with their sites; for a single queried peer, also its neighbours."""
    descriptors = (
        {descriptor.peer: descriptor for peer in peers for descriptor in peer.neighbours}
        if len(peers) == 1
        else {}
    )
    descriptors |= {peer.descriptor.peer: peer.descriptor for peer in peers}
    counts = {peer.descriptor.peer: len(peer.crawled) for peer in peers}
    records = [record for peer in peers for record in peer.places]
    return projection_of(list(descriptors.values()), peers[0].space, counts, records)

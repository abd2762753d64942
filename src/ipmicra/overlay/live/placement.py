"""Round trips from peers whose points are known -> the point of a site, or of a peer that is to join.

The landmarks of GNP are whichever peers are around: a handful, as far from each other as can be found.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence

import numpy as np

from ipmicra.coordinates.gnp import points_against
from ipmicra.errors import HostFault
from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.live.connections import opened
from ipmicra.overlay.live.rpc_client import status_of
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import (
    PeerDescriptor,
    PeerMeasurement,
    SiteMeasured,
    SiteRecord,
)

LANDMARKS_MAX = 12
TRIES = 3
PLACING_SECONDS_MAX = 8.0


def spread(cards: Sequence[PeerDescriptor], many: int) -> list[PeerDescriptor]:
    """So many of them, each as far as can be from those before it."""
    left = sorted(cards, key=lambda card: card.peer)
    chosen = left[:1]
    while len(chosen) < min(many, len(left)):
        rest = [card for card in left if card not in chosen]
        chosen.append(max(rest, key=lambda card: min(math.dist(card.point, c.point) for c in chosen)))
    return chosen


def point_among(landmarks: Sequence[SpacePoint], round_trips_ms: Sequence[float]) -> SpacePoint:
    """Where the distances to the landmarks are most like the round trips."""
    places = np.array(landmarks, dtype=np.float64)
    found = points_against(places, np.array([round_trips_ms], dtype=np.float64))[0]
    return tuple(float(x) for x in found)


def placed(site: str, space: ZoneBox, answers: Sequence[SiteMeasured]) -> SiteRecord:
    """A site's record from what peers measured. Raises HostFault where nobody could."""
    timed = [(answer.by, answer.round_trip_ms) for answer in answers if answer.round_trip_ms is not None]
    if not timed:
        raise HostFault(f"{site} answered none of {len(answers)} peers: is it up? Or give its --point")
    point = point_among([by.point for by, _ in timed], [took_ms for _, took_ms in timed])
    ranked = sorted(timed, key=lambda item: (item[1], item[0].peer))
    measured = tuple(PeerMeasurement(by.peer, took_ms, by.point, by.address) for by, took_ms in ranked)
    return SiteRecord(site, key_in(space, point), point, measured=measured)


async def own_point(via: str, seal: FrameCodec) -> SpacePoint:
    """Where this machine stands, by timing connections to the peer at `via` and those around it."""
    status = await status_of(via, seal)
    around = [card for card in (status.card, *status.neighbours) if "/" not in card.address]
    landmarks = spread(around, LANDMARKS_MAX)
    times = await asyncio.gather(*(_connect_ms(card.address) for card in landmarks))
    known = [(card.point, took) for card, took in zip(landmarks, times, strict=True) if took is not None]
    if not known:
        raise HostFault(f"no peer around {via} can be connected to from here: give a --point")
    return point_among([point for point, _ in known], [took for _, took in known])


async def _connect_ms(address: str) -> float | None:
    """The least of some connects: one round trip each."""
    times = []
    for _ in range(TRIES):
        began_s = time.perf_counter()
        try:
            _, writer = await opened(address)
        except OSError:
            continue
        times.append((time.perf_counter() - began_s) * 1000)
        writer.close()
    return min(times, default=None)

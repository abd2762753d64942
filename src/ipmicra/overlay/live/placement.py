"""Round trips from peers with known points -> the point of a site, or of a peer that is about to join.

The landmarks of GNP are nearby peers: a few of them, as far from each other as possible.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence

import numpy as np

from ipmicra.coordinates.gnp import points_against
from ipmicra.errors import PeerFault, SiteFault
from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.live.connections import open_connection
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


def spread_landmarks(descriptors: Sequence[PeerDescriptor], count: int) -> list[PeerDescriptor]:
    """`count` of these peers, each as far as possible from those chosen before it."""
    left = sorted(descriptors, key=lambda descriptor: descriptor.peer)
    chosen = left[:1]
    while len(chosen) < min(count, len(left)):
        rest = [descriptor for descriptor in left if descriptor not in chosen]
        chosen.append(
            max(rest, key=lambda descriptor: min(math.dist(descriptor.point, c.point) for c in chosen))
        )
    return chosen


def point_among(landmarks: Sequence[SpacePoint], round_trips_ms: Sequence[float]) -> SpacePoint:
    """The point whose distances to the landmarks fit the round trips best."""
    places = np.array(landmarks, dtype=np.float64)
    found = points_against(places, np.array([round_trips_ms], dtype=np.float64))[0]
    return tuple(float(x) for x in found)


def record_of_site(site: str, space: ZoneBox, answers: Sequence[SiteMeasured]) -> SiteRecord:
    """A site's record from the peers' measurements. Raises SiteFault if no peer got an answer."""
    timed = [(answer.by, answer.round_trip_ms) for answer in answers if answer.round_trip_ms is not None]
    if not timed:
        raise SiteFault(
            f"{site} answered none of {len(answers)} peers; check that it is up, or give its --point"
        )
    point = point_among([by.point for by, _ in timed], [took_ms for _, took_ms in timed])
    ranked = sorted(timed, key=lambda item: (item[1], item[0].peer))
    measured = tuple(PeerMeasurement(by.peer, took_ms, by.point, by.address) for by, took_ms in ranked)
    return SiteRecord(site, key_in(space, point), point, measured=measured)


async def own_point(via: str, codec: FrameCodec) -> SpacePoint:
    """The point of this machine, from connection times to the peer at `via` and its neighbours."""
    status = await status_of(via, codec)
    around = [
        descriptor
        for descriptor in (status.descriptor, *status.neighbours)
        if "/" not in descriptor.address
    ]
    landmarks = spread_landmarks(around, LANDMARKS_MAX)
    times = await asyncio.gather(*(_connect_ms(descriptor.address) for descriptor in landmarks))
    known = [
        (descriptor.point, took)
        for descriptor, took in zip(landmarks, times, strict=True)
        if took is not None
    ]
    if not known:
        raise PeerFault(f"cannot connect to any peer near {via}; give a --point")
    return point_among([point for point, _ in known], [took for _, took in known])


async def _connect_ms(address: str) -> float | None:
    """The shortest of several connection times: one round trip each."""
    times = []
    for _ in range(TRIES):
        began_s = time.perf_counter()
        try:
            _, writer = await open_connection(address)
        except OSError:
            continue
        times.append((time.perf_counter() - began_s) * 1000)
        writer.close()
    return min(times, default=None)

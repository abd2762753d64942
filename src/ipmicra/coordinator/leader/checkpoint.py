"""A leader's learned state <-> named blobs, so that the next leader continues where this one stopped.

| name         | what                                                                   |
|--------------|------------------------------------------------------------------------|
| measurements | every crawler's round trips, by unit                                   |
| strategy     | the examples and weights of a learning strategy                        |
| hosts        | round trips between hosts                                              |
| loads        | bytes of the current day, by unit                                      |
| histories    | normal fetch times of each unit, and the time of its last re-check     |

Invariant: bounded in size, and never required: a blob that cannot be read is skipped with a log line, and its
content is learned again.
"""

from __future__ import annotations

import logging
from typing import TypeVar

import msgspec
import zstandard
from sqlalchemy import Connection

from ipmicra.coordinator.leader.host_mesh import HostMesh, HostRoundTrip
from ipmicra.coordinator.leader.recalibration import DayLoads, Recalibrator
from ipmicra.coordinator.store import blobs, delegations
from ipmicra.delegation.calibration import FetchTimeHistory
from ipmicra.delegation.strategies.adaptive.state import AdaptiveState
from ipmicra.delegation.strategies.adaptive.strategy import Adaptive
from ipmicra.delegation.strategy import Strategy

SAVE_SECONDS = 60.0  # between two checkpoints: a killed leader loses what it learned in this time
HOSTS_SECONDS = 5.0  # the same for round trips between hosts, which the dashboard shows
HOSTS = "hosts"
EXAMPLE_FLOATS_MAX = 1_000_000  # of a strategy's examples; about 9 MB before compression
SUBNETS_MAX = 50_000  # whose agreement is saved; about 5 MB before compression
INFLATED_BYTES_MAX = 256 << 20
_LEVEL = 3

_log = logging.getLogger(__name__)
CheckpointParts = TypeVar("CheckpointParts")


class LearnedState(msgspec.Struct, frozen=True):
    """The state of a learning strategy, with the strategy's name."""

    strategy: str
    state: AdaptiveState


class LeaderCheckpoint:
    """Saves and restores the learned state of one leader."""

    def __init__(
        self, name: str, strategy: Strategy, recalibrator: Recalibrator, mesh: HostMesh
    ) -> None:
        self._name, self._strategy = name, strategy
        self._recalibrator, self._mesh = recalibrator, mesh
        self._saved_s: float | None = None
        self._hosts_saved_s: float | None = None
        self._hosts_saved: list[HostRoundTrip] = []

    def save_if_due(self, connection: Connection, now_s: float) -> None:
        if self._saved_s is None:
            self._saved_s = now_s
        if now_s - self._saved_s >= SAVE_SECONDS:
            self.save(connection, now_s)
        elif self._hosts_saved != (known := self._mesh.round_trips()):
            self._save_hosts(connection, known, now_s)

    def _save_hosts(self, connection: Connection, known: list[HostRoundTrip], now_s: float) -> None:
        if self._hosts_saved_s is None or now_s - self._hosts_saved_s >= HOSTS_SECONDS:
            self._hosts_saved, self._hosts_saved_s = known, now_s
            blobs.save(connection, HOSTS, _compress(known), now_s)

    def save(self, connection: Connection, now_s: float) -> None:
        self._saved_s = now_s
        blobs.save(connection, delegations.MEASUREMENTS, self._strategy.measurements.to_bytes(), now_s)
        bodies: dict[str, object] = {
            HOSTS: self._mesh.round_trips(),
            "loads": self._recalibrator.loads(),
            "histories": self._recalibrator.histories(),
        }
        if isinstance(self._strategy, Adaptive):
            bodies["strategy"] = LearnedState(self._name, _bounded(self._strategy.to_state()))
        for name, body in bodies.items():
            blobs.save(connection, name, _compress(body), now_s)

    def restore(self, connection: Connection, now_s: float) -> None:
        """Restore the state; the strategy must already have its crawlers, delegations and round trips."""
        self._mesh.restore(host_round_trips(connection))
        loads = _read(connection, "loads", DayLoads) or DayLoads()
        histories = _read(connection, "histories", list[tuple[str, FetchTimeHistory]]) or []
        self._recalibrator.restore(loads, histories)
        learnt = _read(connection, "strategy", LearnedState)
        if learnt is not None and learnt.strategy == self._name and isinstance(self._strategy, Adaptive):
            self._strategy.from_state(learnt.state)
            _log.info("restored the learned state", extra={"examples": len(learnt.state.sites)})


def host_round_trips(connection: Connection) -> list[HostRoundTrip]:
    """Round trips between hosts, from the last checkpoint."""
    return _read(connection, HOSTS, list[HostRoundTrip]) or []


def _bounded(state: AdaptiveState) -> AdaptiveState:
    """The state with the latest examples only, up to the limits."""
    most = EXAMPLE_FLOATS_MAX // max(1, 2 * len(state.crawlers))
    return msgspec.structs.replace(
        state, sites=state.sites[-most:], subnets=state.subnets[-SUBNETS_MAX:]
    )


def _compress(body: object) -> bytes:
    return zstandard.ZstdCompressor(_LEVEL).compress(msgspec.msgpack.encode(body))


def _read(connection: Connection, name: str, kind: type[CheckpointParts]) -> CheckpointParts | None:
    body = blobs.read(connection, name)
    if body is None:
        return None
    try:
        plain = zstandard.ZstdDecompressor().decompress(body, max_output_size=INFLATED_BYTES_MAX)
        return msgspec.msgpack.decode(plain, type=kind)
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError) as error:
        _log.warning("a checkpoint cannot be read", extra={"memory": name, "why": str(error)})
        return None

"""Reports of hosts about their code -> the hosts to upgrade next, those that wait, and whether to halt a
roll-out.

A version goes to one host in a hundred (at least one), then to one in ten, then to all. The next stage
begins when all hosts of this one have reported it healthy for some time. It halts automatically if hosts
rolled it back, or if the code ends by itself more often than the old one; then no further host gets it.

Invariant: a decision from reports only. The order of hosts depends on names and version, so it is the same
after a restart, and a different one for the next version.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from enum import StrEnum

import msgspec

STAGES = (0.01, 0.10, 1.0)  # shares of the hosts
FAILED_SHARE_MAX = 0.1  # of the hosts that tried; in the first stage none may fail
ENDS_MORE_MAX = 1.0  # a day and host, more than the old code's


class RolloutState(StrEnum):
    ROLLING = "rolling"
    HALTED = "halted"
    DONE = "done"


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    state: RolloutState = RolloutState.ROLLING
    stage: int = 0
    stage_since_s: float = 0.0
    reason: str = ""


class HostCode(msgspec.Struct, frozen=True, kw_only=True):
    """One host's report about the code that it runs."""

    host: str
    running: str = ""  # the version that is good there
    refused: dict[str, str] = {}  # versions that were rolled back, and why
    ends_today: int = 0  # how often the code ended by itself
    takes_bundles: bool = True  # False: its owner runs the code that they installed


class RolloutStep(msgspec.Struct, frozen=True, kw_only=True):
    """The next step of a roll-out."""

    rollout: Rollout
    upgrade: tuple[str, ...] = ()  # hosts that are to have it now


def step(rollout: Rollout, hosts: Sequence[HostCode], now_s: float, soak_s: float) -> RolloutStep:
    """Decide the next step from all hosts' reports."""
    if rollout.state is not RolloutState.ROLLING:
        return RolloutStep(rollout=rollout)
    chosen = chosen_hosts(rollout, hosts)
    reason_to_halt = _halt_reason(rollout, chosen, hosts)
    if reason_to_halt:
        halted = msgspec.structs.replace(rollout, state=RolloutState.HALTED, reason=reason_to_halt)
        return RolloutStep(rollout=halted)
    missing = [code.host for code in chosen if code.running != rollout.version]
    missing = [host for host in missing if host not in _refusing(rollout, chosen)]
    if missing or not chosen:
        return RolloutStep(rollout=rollout, upgrade=tuple(missing))
    if now_s - rollout.stage_since_s < soak_s:
        return RolloutStep(rollout=rollout)
    if rollout.stage + 1 == len(STAGES):
        return RolloutStep(rollout=msgspec.structs.replace(rollout, state=RolloutState.DONE))
    return RolloutStep(
        rollout=msgspec.structs.replace(rollout, stage=rollout.stage + 1, stage_since_s=now_s)
    )


def chosen_hosts(rollout: Rollout, hosts: Sequence[HostCode]) -> list[HostCode]:
    """Those of this stage and the earlier ones."""
    willing = [code for code in hosts if code.takes_bundles]
    count = math.ceil(STAGES[rollout.stage] * len(willing))
    return sorted(willing, key=lambda code: _position(code.host, rollout.version))[:count]


def _halt_reason(rollout: Rollout, chosen: list[HostCode], hosts: Sequence[HostCode]) -> str:
    """The reason to halt; empty if there is none."""
    failed = _refusing(rollout, chosen)
    tried = len(failed) + sum(code.running == rollout.version for code in chosen)
    allowed = 0 if rollout.stage == 0 else FAILED_SHARE_MAX * tried
    if len(failed) > allowed:
        host, reason = next(iter(failed.items()))
        return f"{len(failed)} of {tried} hosts rolled it back; {host}: {reason}"
    new = [code.ends_today for code in chosen if code.running == rollout.version]
    old = [code.ends_today for code in hosts if code.running != rollout.version]
    if new and _mean(new) > _mean(old) + ENDS_MORE_MAX:
        return f"it ends by itself {_mean(new):.1f} times per day and host, the old one {_mean(old):.1f}"
    return ""


def _refusing(rollout: Rollout, chosen: list[HostCode]) -> dict[str, str]:
    return {
        code.host: code.refused[rollout.version] for code in chosen if rollout.version in code.refused
    }


def _position(host: str, version: str) -> bytes:
    return hashlib.sha256(f"{version}/{host}".encode()).digest()


def _mean(values: list[int]) -> float:
    return sum(values) / len(values) if values else 0.0

"""Facts about a crawler -> its state, and the commands and events that change it.

    state_of(CrawlerStateInputs(host=HostState.ENROLLED, present=True, ...)) is CrawlerState.WORKING
    is_allowed(CrawlerState.WORKING, OperatorCommand.PAUSE)

Invariant: no I/O, and the only list of states and transitions: commands and pages offer what is listed here
and refuse the rest, and `docs/reference/crawler-life.md` is generated from it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ipmicra.coordinator.store.hosts import HostState


class CrawlerState(StrEnum):
    EXPECTED = "expected"
    STARTING = "starting"
    WORKING = "working"
    RESTING = "resting"
    PAUSED = "paused"
    UPGRADING = "upgrading"
    MOVING = "moving"
    MOVED = "moved"
    RETIRING = "retiring"
    LOST = "lost"
    RETIRED = "retired"
    LEFT = "left"
    KILLED = "killed"


MEANINGS: dict[CrawlerState, str] = {
    CrawlerState.EXPECTED: "registered; its join token is not used yet",
    CrawlerState.STARTING: "its host has joined, and has not reported yet",
    CrawlerState.WORKING: "fetches what is delegated to it",
    CrawlerState.RESTING: "keeps its sites and fetches nothing: its owner's hours, limits or pause",
    CrawlerState.PAUSED: "keeps its sites and fetches nothing: the operator's pause",
    CrawlerState.UPGRADING: "changes its code, or tries the new one",
    CrawlerState.MOVING: "hands over its sites with their state to the target host",
    CrawlerState.MOVED: "has handed over all sites; its host gets no new ones",
    CrawlerState.RETIRING: "hands over its sites, delivers its packages, and stops",
    CrawlerState.LOST: "silent past its lease; its sites go to others",
    CrawlerState.RETIRED: "stopped in good order, by the operator's command",
    CrawlerState.LEFT: "ended by its host's owner",
    CrawlerState.KILLED: "revoked: its key is invalid and its requests are refused",
}
ENDED = (CrawlerState.RETIRED, CrawlerState.LEFT, CrawlerState.KILLED)


class OperatorCommand(StrEnum):
    """Operator commands; the names of command-line commands and buttons."""

    PAUSE = "pause"
    RESUME = "resume"
    UPGRADE = "upgrade"
    MOVE = "move"
    RETIRE = "retire"
    REVOKE = "revoke"


class Actor(StrEnum):
    """The party that causes a transition."""

    OPERATOR = "the operator"
    OWNER = "the host's owner"
    HOST = "the host"
    COORDINATOR = "the coordinator"


class Transition(NamedTuple):
    sources: tuple[CrawlerState, ...]
    to: CrawlerState
    by: Actor
    cause: str  # for people; the command's name if it is one
    command: OperatorCommand | None = None


_S = CrawlerState
_A = Actor
_C = OperatorCommand
_HERE = (_S.WORKING, _S.RESTING, _S.PAUSED, _S.UPGRADING)
_PRESENT = (_S.STARTING, *_HERE, _S.MOVING, _S.MOVED, _S.RETIRING)
_ALIVE = (_S.EXPECTED, *_PRESENT, _S.LOST)

TRANSITIONS: tuple[Transition, ...] = (
    Transition((_S.EXPECTED,), _S.STARTING, _A.OWNER, "joins with the token"),
    Transition((_S.STARTING, _S.LOST), _S.WORKING, _A.HOST, "reports"),
    Transition((_S.STARTING, _S.LOST), _S.RESTING, _A.HOST, "reports, outside of its hours or limits"),
    Transition((_S.WORKING, _S.UPGRADING), _S.RESTING, _A.OWNER, "hours end, limits are reached, or a pause"),
    Transition((_S.RESTING,), _S.WORKING, _A.OWNER, "hours begin, limits are renewed, or a resume"),
    Transition(
        (_S.STARTING, _S.WORKING, _S.RESTING, _S.UPGRADING), _S.PAUSED, _A.OPERATOR, "pause", _C.PAUSE
    ),
    Transition((_S.PAUSED, _S.MOVED), _S.WORKING, _A.OPERATOR, "resume", _C.RESUME),
    Transition((_S.MOVING,), _S.WORKING, _A.OPERATOR, "resume: it keeps its remaining sites", _C.RESUME),
    Transition((_S.WORKING, _S.RESTING), _S.UPGRADING, _A.OPERATOR, "upgrade", _C.UPGRADE),
    Transition((_S.WORKING, _S.RESTING), _S.UPGRADING, _A.COORDINATOR, "a roll-out reaches it"),
    Transition((_S.UPGRADING,), _S.WORKING, _A.HOST, "the code proved healthy, or was rolled back"),
    Transition(_HERE, _S.MOVING, _A.OPERATOR, "move", _C.MOVE),
    Transition((_S.MOVING,), _S.MOVED, _A.HOST, "released its last site"),
    Transition((_S.MOVING,), _S.WORKING, _A.COORDINATOR, "the target host is gone"),
    Transition((*_HERE, _S.STARTING, _S.MOVING, _S.MOVED), _S.RETIRING, _A.OPERATOR, "retire", _C.RETIRE),
    Transition((_S.RETIRING,), _S.RETIRED, _A.HOST, "handed everything over"),
    Transition(_PRESENT, _S.LOST, _A.COORDINATOR, "silent past its lease"),
    Transition((_S.LOST,), _S.MOVED, _A.HOST, "reports, after its move"),
    Transition((*_PRESENT, _S.LOST), _S.LEFT, _A.OWNER, "leaves"),
    Transition(_ALIVE, _S.KILLED, _A.OPERATOR, "revoke or purge", _C.REVOKE),
    Transition(_ALIVE, _S.KILLED, _A.COORDINATOR, "it lied"),
)  # fmt: skip


class CrawlerStateInputs(NamedTuple):
    """The facts from which the state is computed."""

    host: HostState
    present: bool = False  # its lease runs
    has_reported: bool = False
    awake: bool = False
    is_retiring: bool = False
    moves: bool = False
    has_moved: bool = False
    paused: bool = False  # by the operator
    changes_code: bool = False


_BY_HOST = {
    HostState.REGISTERED: CrawlerState.EXPECTED,
    HostState.REVOKED: CrawlerState.KILLED,
    HostState.LEFT: CrawlerState.LEFT,
    HostState.RETIRED: CrawlerState.RETIRED,
}


def state_of(inputs: CrawlerStateInputs) -> CrawlerState:
    """If several states apply, the one that matters most to the operator."""
    if inputs.host is not HostState.ENROLLED:
        return _BY_HOST[inputs.host]
    if not inputs.has_reported:
        return CrawlerState.STARTING
    if not inputs.present:
        return CrawlerState.LOST
    by_precedence = (
        (inputs.is_retiring, CrawlerState.RETIRING),
        (inputs.moves, CrawlerState.MOVING),
        (inputs.has_moved, CrawlerState.MOVED),
        (inputs.paused, CrawlerState.PAUSED),
        (inputs.changes_code, CrawlerState.UPGRADING),
        (inputs.awake, CrawlerState.WORKING),
    )
    return next((state for is_so, state in by_precedence if is_so), CrawlerState.RESTING)


def is_allowed(state: CrawlerState, command: OperatorCommand) -> bool:
    """Whether the command is allowed for a crawler in this state."""
    return any(command is one.command and state in one.sources for one in TRANSITIONS)


def is_noop(state: CrawlerState, command: OperatorCommand) -> bool:
    """Whether the crawler is already in the state that the command leads to."""
    return any(command is one.command and state is one.to for one in TRANSITIONS)


def allowed_commands(state: CrawlerState) -> tuple[OperatorCommand, ...]:
    """All commands that are allowed in this state."""
    return tuple(command for command in OperatorCommand if is_allowed(state, command))


def next_states(before: CrawlerState) -> frozenset[CrawlerState]:
    """States that can follow this one."""
    return frozenset(one.to for one in TRANSITIONS if before in one.sources)


def as_markdown() -> str:
    """Both tables, for the reference page."""
    states = [f"| `{state}` | {MEANINGS[state]} |" for state in CrawlerState]
    changes = [
        f"| {', '.join(f'`{source}`' for source in one.sources)} | `{one.to}` | {one.by} | {one.cause} |"
        for one in TRANSITIONS
    ]
    heads = ("| state | the crawler |\n|---|---|", "| from | to | by | cause |\n|---|---|---|---|")
    return "\n".join((heads[0], *states, "", heads[1], *changes, ""))

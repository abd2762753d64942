"""How a peer behaves: intervals, the splitting scheme for join requests, the hand-over rule."""

from __future__ import annotations

from dataclasses import dataclass

from ipmicra.overlay.can.sites.nearness import HandOverRule


@dataclass(frozen=True, slots=True)
class PeerRules:
    """Shorter intervals detect a crash sooner and cost messages.

    A site's record is replicated to all neighbours of its home, and to one remote peer. Replicas outlive
    their home by `replicas_kept_s`: longer than a failed take-over that the next candidate repeats.
    """

    gossip_every_s: float = 5.0
    dead_after_s: float = 15.0
    unreachable_after_s: float = 6.0  # the same for an unreachable neighbour: a bit more than one update
    open_face_after_s: float = 7.0  # a face without a known neighbour for this long borders a gap
    full_list_every: int = 3  # updates between two that list all sites although nothing has changed
    announce_every_s: float = 5.0
    lease_s: float = 15.0  # a delegate that did not announce itself for this long loses the site
    replicate_every_s: float = 8.0  # how often a home sends its records to its remote replica
    register_every_s: float = 60.0  # how often a home repeats its sites to the registrars
    replicas_kept_s: float = 90.0
    claim_step_s: float = 1.0  # delay of each further candidate for a dead peer's zone
    hops_max: int = 200
    switch: str = "MP/slab"
    peers_expected: int = 1  # for a SWITCH scheme: the number that its percentage refers to
    hand_over: HandOverRule | None = None  # None: homes crawl their sites themselves, as in the paper

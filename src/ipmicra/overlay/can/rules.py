"""How a peer behaves: times, the splitting scheme it writes into join requests, the hand-over rule."""

from __future__ import annotations

from dataclasses import dataclass

from ipmicra.overlay.can.nearness import HandOverRule


@dataclass(frozen=True, slots=True)
class PeerRules:
    """Shorter times notice a crash sooner and cost messages.

    A site's record is copied to all neighbours of its home, and to a witness far away. Copies outlive
    what they were copied from by `copies_kept_s`: longer than a take-over that fails and is done again
    by the next in turn.
    """

    hello_every_s: float = 5.0
    silent_after_s: float = 15.0
    unreached_after_s: float = (
        6.0  # the same for one that cannot be reached either: a greeting and a bit
    )
    open_face_after_s: float = 7.0  # a border beyond which nobody is found for so long is a hole
    sites_every_hellos: int = 3  # greetings between two that list all sites though nothing changed
    announce_every_s: float = 5.0
    lease_s: float = 15.0  # a delegate that did not announce itself for so long has lost the site
    testify_every_s: float = 8.0  # how often a home repeats its sites to its witness at the far end
    register_every_s: float = 60.0  # and to the registrars of their names
    copies_kept_s: float = 90.0
    claim_step_s: float = 1.0  # each further candidate for a dead peer's zone waits this much longer
    hops_max: int = 200
    switch: str = "MP/slab"
    peers_expected: int = 1  # for a SWITCH scheme: what its percentage is a percentage of
    hand_over: HandOverRule | None = None  # None: the home crawls its sites itself, as in the paper

"""A policy's name -> the passes in which it balances.

The new crawler of a moved unit fetches it, and every fetch measures a round trip at no cost. So
`assign-and-probe` does not send all probes at once: it moves units by estimates, corrects these by the
fetches, sends a part of its probes, moves again, and so on. The last pass sends no probe and uses the
last fetches. Estimates that were too good are corrected without a probe; the price is that some subnets
move more than once.

Invariant: the probes of all passes together are those of the policy in one pass.
"""

from __future__ import annotations

from functools import partial

from ipmicra.delegation.balancing.policies import (
    POLICIES,
    PROBES_PER_UNIT,
    Policy,
    assign_and_probe,
    assignment,
)

# Between the first and the last, which ask nothing. More: a lower cost, more moves.
ASKING_PASSES = 6


def passes_of(policy: str) -> tuple[Policy, ...]:
    """One after the other, with time between them for every moved subnet to be fetched once."""
    if policy != "assign-and-probe":
        return (POLICIES[policy],)
    asking = partial(assign_and_probe, probes_per_unit=PROBES_PER_UNIT / ASKING_PASSES)
    return (assignment, *[asking] * ASKING_PASSES, assignment)

"""A ground that changes hands -> its row, and its sites released by who had them.

Law: a site moves only after its crawler has let go of it; what moves is what the strategy now says is
somebody else's.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from sqlalchemy import Connection

from ipmicra.coordinator import sites
from ipmicra.coordinator.delegating import memory
from ipmicra.coordinator.delegating.grounds import ground_text
from ipmicra.coordinator.delegating.memory import Reasons
from ipmicra.coordinator.sites import SiteRow
from ipmicra.delegation.delegations import Ground
from ipmicra.delegation.probes import Target
from ipmicra.delegation.strategy import Strategy


def settle(
    connection: Connection, strategy: Strategy, grounds: Iterable[Ground], reasons: Reasons, now_s: float
) -> int:
    """Write the grounds down and release what moves. Returns how many sites move."""
    changed = list(dict.fromkeys(grounds))
    for ground in changed:
        memory.keep(connection, strategy, ground, reasons, now_s)
    texts = [ground_text(strategy.tree, ground) for ground in changed]
    moving = [
        row
        for row in sites.delegated_sites(connection, texts)
        if strategy.delegated(target_of(row)) not in (None, row.crawler)
    ]
    sites.begin_release(connection, moving, now_s)
    return len(moving)


def target_of(site: SiteRow) -> Target:
    """A site that has been located, as a strategy knows it."""
    return Target.of(site.name, ipaddress.ip_address(site.address))

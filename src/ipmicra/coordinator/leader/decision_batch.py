"""The decisions of a round -> rows, in few statements, and release orders for sites that change owner.

Invariant: decisions are written in the round's transaction, before anything that depends on them. A site is
released when the strategy assigns it to another crawler than its owner.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from sqlalchemy import Connection

from ipmicra.coordinator.assignment import assigner, release
from ipmicra.coordinator.assignment.assigner import SiteAssignment
from ipmicra.coordinator.store import delegations, sites
from ipmicra.coordinator.store.delegations import DecisionReasons
from ipmicra.coordinator.store.sites import SiteRow
from ipmicra.coordinator.store.unit_codec import unit_text
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.strategy import Strategy
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Target


class DecisionBatch:
    """The decisions of one strategy that are still to be written."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._reasons: dict[DelegationUnit, DecisionReasons] = {}
        self._assignments: list[SiteAssignment] = []
        self._unreachable: list[tuple[SiteRow, str]] = []
        self._waiting: list[tuple[SiteRow, str]] = []

    def add_assignment(self, site: SiteRow, target: Target, crawler: CrawlerId) -> None:
        """The site is to be assigned to the crawler."""
        text = unit_text(self._strategy.tree, self._strategy.unit_of(target))
        self._assignments.append(SiteAssignment(site, crawler, str(target.address), text))

    def add_delegations(self, units: Iterable[DelegationUnit], reasons: DecisionReasons) -> None:
        """The strategy has delegated these units for these reasons."""
        self._reasons |= dict.fromkeys(units, reasons)

    def add_unreachable(self, site: SiteRow, note: str) -> None:
        self._unreachable.append((site, note))

    def add_waiting(self, site: SiteRow, note: str) -> None:
        self._waiting.append((site, note))

    def write(self, connection: Connection, now_s: float) -> None:
        """Write all decisions since the last call."""
        delegations.write_delegations(connection, self._strategy, self._reasons, now_s)
        assigner.assign(connection, self._assignments, now_s)
        sites.mark_unreachable(connection, self._unreachable, now_s)
        sites.set_notes(connection, self._waiting)
        for written in (self._reasons, self._assignments, self._unreachable, self._waiting):
            written.clear()

    def write_and_release(
        self,
        connection: Connection,
        units: Iterable[DelegationUnit],
        reasons: DecisionReasons,
        now_s: float,
    ) -> int:
        """Write the owners of the units and release the sites that move. Returns the number of such sites."""
        changed = list(dict.fromkeys(units))
        self.add_delegations(changed, reasons)
        self.write(connection, now_s)
        texts = [unit_text(self._strategy.tree, unit) for unit in changed]
        moving = [row for row in sites.delegated_sites(connection, texts) if self._is_moving(row)]
        release.begin_release(connection, moving, now_s)
        return len(moving)

    def _is_moving(self, row: SiteRow) -> bool:
        return self._strategy.owner_of(target_of(row)) not in (None, row.crawler)


def target_of(site: SiteRow) -> Target:
    """A site with a known address, as a strategy sees it."""
    return Target.of(site.name, ipaddress.ip_address(site.address))

"""Rows of delegations -> all decisions in memory, read again only where they are new.

For pages with totals: probes spent, owners inside a subnet, savings. Invariant: reads rows only; the
content is that of the last `read`.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select

from ipmicra.coordinator.store.delegations import DecisionReasons, DelegationRow
from ipmicra.coordinator.store.sql.schema import delegation_table

_decode = msgspec.msgpack.Decoder(DecisionReasons).decode


class DelegationCache:
    """Delegations by unit. `read` brings it up to date."""

    def __init__(self) -> None:
        self.by_unit: dict[str, DelegationRow] = {}
        self._read_until_s = 0.0
        self.version = 0  # rises when anything has changed

    def read(self, connection: Connection) -> None:
        """Rows are only added, replaced by later ones, or deleted, which the count shows."""
        self._read_new(connection)
        count = connection.execute(select(func.count()).select_from(delegation_table)).scalar_one()
        if count != len(self.by_unit):
            self.by_unit, self._read_until_s = {}, 0.0
            self.version += 1
            self._read_new(connection)

    def _read_new(self, connection: Connection) -> None:
        fresh = select(delegation_table).where(delegation_table.c.decided_s >= self._read_until_s)
        for row in connection.execute(fresh):
            known = self.by_unit.get(row.ground)
            if known is not None and (known.decided_s, known.crawler) == (row.decided_s, row.crawler):
                continue
            self.version += 1
            self.by_unit[row.ground] = DelegationRow(
                unit=row.ground,
                crawler=row.crawler,
                decided_s=row.decided_s,
                reasons=_decode(row.decision),
            )
            self._read_until_s = max(self._read_until_s, row.decided_s)

    def probes_by_site(self) -> dict[str, int]:
        """Probes that each site's own decision took; one decision may stand in several rows."""
        return {
            made.reasons.site: len(made.reasons.probes)
            for made in self.by_unit.values()
            if made.reasons.site
        }

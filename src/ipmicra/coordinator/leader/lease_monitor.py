"""Hosts' signs of life -> leases that end, and leases that do not because it is we who hear nobody.

Law: what is decided is decided in `ipmicra.delegation.partition`; here it is done to the rows, and said.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection

from ipmicra.coordinator.store import events, hosts
from ipmicra.delegation.partition import Connectivity, PartitionDetector, listened

_log = logging.getLogger(__name__)


class LeaseMonitor:
    """A leader's watch over the leases of its hosts."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._ear = PartitionDetector()

    def look(self, connection: Connection, now_s: float) -> None:
        """End the leases of the silent, or keep everybody's while perhaps we are deaf."""
        before = self._ear
        self._ear = listened(before, now_s, hosts.leased_heard_s(connection), self._lease_s)
        if self._ear.hearing is Connectivity.WELL:
            for silent in hosts.expire_leases(connection, now_s):
                events.note(connection, "lease-lost", silent, "silent past its lease", now_s)
        elif self._ear.hearing is Connectivity.AGAIN:
            hosts.prolong_leases(connection, now_s, self._lease_s)
        else:
            hosts.keep_leases(connection, now_s, self._lease_s)
        self._say(connection, before, now_s)

    def _say(self, connection: Connection, before: PartitionDetector, now_s: float) -> None:
        hearing = self._ear.hearing
        if before.looked_s is None or hearing is before.hearing or Connectivity.WELL is hearing:
            return
        detail = {
            Connectivity.CUT_OFF: "nearly all hosts are silent: perhaps our own line is cut; no lease ends",
            Connectivity.AGAIN: "hosts are heard again; every lease begins anew",
        }[hearing]
        events.note(
            connection, "line-cut" if hearing is Connectivity.CUT_OFF else "line-back", "", detail, now_s
        )
        _log.warning(detail)

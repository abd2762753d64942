"""Heartbeats -> expired leases. While nearly all hosts are silent we assume that our own network is down, and
expire none.

Invariant: the decision is made in `ipmicra.delegation.partition`; this module applies it to rows and
reports it.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection

from ipmicra.coordinator.store import events, hosts
from ipmicra.delegation.partition import Connectivity, PartitionDetector, next_detector

_log = logging.getLogger(__name__)


class LeaseMonitor:
    """Expires the leases of hosts, for one leader."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._partition = PartitionDetector()

    def check(self, connection: Connection, now_s: float) -> None:
        """Expire leases of silent hosts, unless we may be partitioned from all of them."""
        before = self._partition
        self._partition = next_detector(before, now_s, hosts.leased_heard_s(connection), self._lease_s)
        if self._partition.connectivity is Connectivity.WELL:
            for silent in hosts.expire_leases(connection, now_s):
                events.record(
                    connection, events.EventKind.LEASE_LOST, silent, "silent past its lease", now_s
                )
        elif self._partition.connectivity is Connectivity.AGAIN:
            hosts.prolong_leases(connection, now_s, self._lease_s)
        else:
            hosts.keep_leases(connection, now_s, self._lease_s)
        self._report_change(connection, before, now_s)

    def _report_change(self, connection: Connection, before: PartitionDetector, now_s: float) -> None:
        connectivity = self._partition.connectivity
        if (
            before.checked_s is None
            or connectivity is before.connectivity
            or Connectivity.WELL is connectivity
        ):
            return
        detail = {
            Connectivity.CUT_OFF: "nearly all hosts are silent: our network may be down; no lease expires",
            Connectivity.AGAIN: "hosts send heartbeats again; every lease starts again",
        }[connectivity]
        events.record(
            connection,
            events.EventKind.LINE_CUT
            if connectivity is Connectivity.CUT_OFF
            else events.EventKind.LINE_BACK,
            "",
            detail,
            now_s,
        )
        _log.warning(detail)

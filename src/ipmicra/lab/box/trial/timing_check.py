"""A router's report -> whether the measurements during it are valid."""

from __future__ import annotations

import msgspec

from ipmicra.errors import HostFault
from ipmicra.lab.box.processes.control_channel import RouterReport


class Late(HostFault):
    """The router was late: what was measured is to be thrown away, and may be measured again."""


class TimingTolerance(msgspec.Struct, frozen=True, kw_only=True):
    """How late the router may be: at most this share of packets by this much or more."""

    late_ms: float = 1.0
    share_max: float = 0.01


def check_on_time(report: RouterReport, since: RouterReport | None, patience: TimingTolerance) -> None:
    """Raise Late where more packets were late than there is patience for.

    Being away counts like being late: a packet may have waited unread for as long.
    """
    for what, now, before in (
        ("packets left late", report.late, since.late if since else None),
        ("looks at the wires took long", report.away, since.away if since else None),
    ):
        found = now.since(before) if before is not None else now
        share = found.share_from(patience.late_ms)
        if share > patience.share_max:
            raise Late(
                f"the box's router was late, so this measurement cannot be believed: {share:.1%} of {what} "
                f"by {patience.late_ms:g} ms or more (allowed: {patience.share_max:.1%}; greatest "
                f"{found.greatest_ms:.1f} ms). Run it again on a quieter machine"
                + ("" if report.real_time else ", with the right to SCHED_FIFO (CAP_SYS_NICE)")
            )

"""Hours, limits, pauses and usage -> whether the crawler may work now, or why it is paused.

Invariant: pure, and the only place where this is decided. The owner's decision comes before the
coordinator's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ipmicra.host.settings import HostSettings

DRAIN_SECONDS = 3.0  # nothing new starts this long before a span ends; at its end everything is aborted


@dataclass(frozen=True, slots=True)
class AdmissionInputs:
    """The facts that the decision depends on."""

    bytes_today: int = 0
    bytes_this_month: int = 0
    disk_bytes: int = 0
    paused_by_owner: bool = False
    paused_by_coordinator: str | None = None  # its reason
    retiring: bool = False


def blocked_reason(settings: HostSettings, facts: AdmissionInputs, at: datetime) -> str | None:
    """Why nothing may be fetched or probed now, as text for the owner; None if work is allowed."""
    if facts.paused_by_owner:
        return "paused by its owner"
    if facts.retiring:
        return "retiring"
    if not settings.working_hours().is_open(at):
        return f"outside of its hours ({settings.hours})"
    if facts.paused_by_coordinator is not None:
        return f"paused by the coordinator: {facts.paused_by_coordinator or 'no reason given'}"
    if settings.bytes_per_day_max and facts.bytes_today >= settings.bytes_per_day_max:
        return "the daily limit of bytes is reached"
    if settings.bytes_per_month_max and facts.bytes_this_month >= settings.bytes_per_month_max:
        return "the monthly limit of bytes is reached"
    if facts.disk_bytes >= settings.disk_bytes_max:
        return "the disk limit is reached: packages could not be sent yet"
    return None


def ends_soon(settings: HostSettings, at: datetime) -> bool:
    """Whether the present span of working hours ends within the time to drain."""
    return not settings.working_hours().is_open(at + timedelta(seconds=DRAIN_SECONDS))


def may_deliver(settings: HostSettings, facts: AdmissionInputs, at: datetime) -> bool:
    """Whether packages may be sent: within hours and byte limits. A full disk is a reason to send,
    not against it.
    """
    owners = replace(facts, disk_bytes=0, paused_by_coordinator=None, retiring=False)
    return blocked_reason(settings, owners, at) is None

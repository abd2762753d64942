"""The owner's current settings and the usage -> whether work may be done, started or sent.

Invariant: the host's own copy is checked each time. Changed settings apply while the host runs;
contradictory ones change nothing, and the store says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from ipmicra.errors import Fault
from ipmicra.host import folder as folders
from ipmicra.host.limits.admission import AdmissionInputs, blocked_reason, ends_soon, may_deliver
from ipmicra.host.limits.cpu_idle import CpuIdleMonitor
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.settings import HostingSettings, checked
from ipmicra.host.store import HostStore

DISK_CHECK_SECONDS = 10.0
SETTINGS_CHECK_SECONDS = 2.0

Rules = TypeVar("Rules", bound=HostingSettings)


class OwnerRules(Generic[Rules]):
    """The owner's rules that apply now."""

    def __init__(
        self,
        folder: Path,
        settings: Rules,
        store: HostStore,
        clock: Callable[[], datetime],
        reload: Callable[[], Rules] | None,
    ) -> None:
        self._folder, self._store, self._reload = folder, store, reload
        self._contact = store.facts().get("contact", "")
        self.clock = clock
        self.settings = self._checked(settings)
        self.meter = UsageMeter(store, settings.host, clock)
        self._cpu_idle = CpuIdleMonitor(self.meter.cpu_seconds)
        self._disk_bytes, self._next_disk_check, self._next_settings_check = 0, 0.0, 0.0

    def blocked_reason(self) -> str | None:
        """Why no work is done now; None if work is allowed."""
        return blocked_reason(self.settings.host, self._inputs(), self.clock())

    def start_blocked_reason(self) -> str | None:
        """The same, but the last seconds of a span count as paused."""
        return self.blocked_reason() or ("its hours are about to end" if self.ends_soon() else None)

    def ends_soon(self) -> bool:
        return ends_soon(self.settings.host, self.clock())

    def may_deliver(self) -> bool:
        if self._store.get("retiring") is not None:
            return True
        return may_deliver(self.settings.host, self._inputs(), self.clock())

    def refresh(self) -> bool:
        """Check the machine, the disk and the settings from time to time. True if the settings have
        changed.
        """
        now = time.monotonic()
        self._update_cpu_share()
        if now >= self._next_disk_check:
            self._disk_bytes = folders.disk_bytes(self._folder)
            self._next_disk_check = now + DISK_CHECK_SECONDS
        if self._reload is None or now < self._next_settings_check:
            return False
        self._next_settings_check = now + SETTINGS_CHECK_SECONDS
        return self._reload_settings(self._reload)

    def _update_cpu_share(self) -> None:
        """Use more CPU while the machine is otherwise idle."""
        host = self.settings.host
        lends_more = host.cpu_share_idle_max and self._cpu_idle.update()
        self.meter.rate_limiter.cpu_share_max = (
            host.cpu_share_idle_max if lends_more else host.cpu_share_max
        )

    def _inputs(self) -> AdmissionInputs:
        today, month = self.meter.used_bytes()
        facts = self._store.facts()
        return AdmissionInputs(
            bytes_today=today,
            bytes_this_month=month,
            disk_bytes=self._disk_bytes,
            paused_by_owner="paused_by_owner" in facts,
            paused_by_coordinator=facts.get("paused_by_coordinator"),
            retiring="retiring" in facts,
        )

    def _reload_settings(self, reload: Callable[[], Rules]) -> bool:
        try:
            settings = self._checked(reload())
        except Fault as fault:
            if str(fault) != self._store.get("settings"):
                self._store.set(settings=str(fault))
                self._store.log_event(f"the settings stay as they were: {fault}")
            return False
        if settings == self.settings:
            return False
        self.settings = settings
        self.meter.apply(settings.host)
        self._store.set(settings=None)
        self._store.log_event("the settings have changed")
        return True

    def _checked(self, settings: Rules) -> Rules:
        """Checked, and with the coordinator's contact where the owner has set none."""
        checked(settings.host)
        contact = settings.crawler.contact or self._contact
        crawler = msgspec.structs.replace(settings.crawler, contact=contact)
        return msgspec.structs.replace(settings, crawler=crawler)

"""The owner's settings as they are now, and what was used -> may work be done, begun, sent?

Law: the host's own copy is asked, each time. Other settings than before are taken over while the host
runs; such as contradict themselves change nothing, and the ledger says why.
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

DISK_LOOK_SECONDS = 10.0
SETTINGS_LOOK_SECONDS = 2.0

Rules = TypeVar("Rules", bound=HostingSettings)


class OwnerRules(Generic[Rules]):
    """What the owner allows at the moment."""

    def __init__(
        self,
        folder: Path,
        settings: Rules,
        ledger: HostStore,
        clock: Callable[[], datetime],
        reload: Callable[[], Rules] | None,
    ) -> None:
        self._folder, self._ledger, self._reload = folder, ledger, reload
        self._contact = ledger.facts().get("contact", "")
        self.clock = clock
        self.settings = self._checked(settings)
        self.meter = UsageMeter(ledger, settings.host, clock)
        self._idleness = CpuIdleMonitor(self.meter.cpu_seconds)
        self._disk_bytes, self._look_at_disk, self._look_at_settings = 0, 0.0, 0.0

    def reason_to_rest(self) -> str | None:
        """Why no work is done now; None: work."""
        return blocked_reason(self.settings.host, self._facts(), self.clock())

    def reason_to_begin_nothing(self) -> str | None:
        """The same, with the last seconds of a span counted as rest."""
        return self.reason_to_rest() or ("its hours are about to end" if self.ends_soon() else None)

    def ends_soon(self) -> bool:
        return ends_soon(self.settings.host, self.clock())

    def may_deliver(self) -> bool:
        if self._ledger.fact("retiring") is not None:
            return True
        return may_deliver(self.settings.host, self._facts(), self.clock())

    def look_around(self) -> bool:
        """At the machine, the disk and the settings, from time to time. True: there are other settings."""
        now = time.monotonic()
        self._lend_processor()
        if now >= self._look_at_disk:
            self._disk_bytes = folders.disk_bytes(self._folder)
            self._look_at_disk = now + DISK_LOOK_SECONDS
        if self._reload is None or now < self._look_at_settings:
            return False
        self._look_at_settings = now + SETTINGS_LOOK_SECONDS
        return self._reread(self._reload)

    def _lend_processor(self) -> None:
        """More of it while nobody else wants it."""
        host = self.settings.host
        lends_more = host.cpu_share_idle_max and self._idleness.look()
        self.meter.pace.cpu_share_max = host.cpu_share_idle_max if lends_more else host.cpu_share_max

    def _facts(self) -> AdmissionInputs:
        today, month = self.meter.used()
        kept = self._ledger.facts()
        return AdmissionInputs(
            bytes_today=today,
            bytes_this_month=month,
            disk_bytes=self._disk_bytes,
            paused_by_owner="paused_by_owner" in kept,
            paused_by_coordinator=kept.get("paused_by_coordinator"),
            retiring="retiring" in kept,
        )

    def _reread(self, reload: Callable[[], Rules]) -> bool:
        try:
            settings = self._checked(reload())
        except Fault as fault:
            if str(fault) != self._ledger.fact("settings"):
                self._ledger.keep(settings=str(fault))
                self._ledger.note(f"the settings stay as they were: {fault}")
            return False
        if settings == self.settings:
            return False
        self.settings = settings
        self.meter.apply(settings.host)
        self._ledger.keep(settings=None)
        self._ledger.note("the settings have changed")
        return True

    def _checked(self, settings: Rules) -> Rules:
        """In order, and with the coordinator's contact where the owner has set none."""
        checked(settings.host)
        contact = settings.crawler.contact or self._contact
        crawler = msgspec.structs.replace(settings.crawler, contact=contact)
        return msgspec.structs.replace(settings, crawler=crawler)

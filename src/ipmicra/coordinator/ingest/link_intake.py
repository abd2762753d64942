"""The links of one package -> rows, in many small transactions, within the limits of the settings.

Invariant: no transaction stores more than `intake.LINKS_AT_ONCE_MAX` links, so that hosts and the leader
write in between. What is left out is counted, for the operator to see.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from ipmicra.coordinator.metrics import LINKS_DROPPED
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import intake
from ipmicra.coordinator.store.intake import FoundLink, IntakeCount, IntakeLimits, IntakeSource
from ipmicra.coordinator.store.sql.database import Database


class DroppedLinks(NamedTuple):
    """Links of one package that were not stored; falsy where there are none."""

    of_package: int = 0  # beyond the limit of links in a package
    of_sources: int = 0  # beyond a limit of new links or new sites

    def __bool__(self) -> bool:
        return self.of_package + self.of_sources > 0

    def in_words(self) -> str:
        return (
            f"{self.of_package + self.of_sources} links left out: {self.of_package} beyond "
            f"coordinator.links_per_package_max, {self.of_sources} beyond the limits of new links and "
            "sites per package, per host or per linking site"
        )


class LinkIntake:
    """Stores the links that packages bring."""

    def __init__(self, database: Database, settings: CoordinatorSettings) -> None:
        self._database = database
        self._links_max = settings.links_per_package_max
        self._package_limits = IntakeLimits(self._links_max, settings.new_sites_per_package_max)
        self._host_limits = IntakeLimits(
            settings.new_links_per_host_a_day_max, settings.new_sites_per_host_a_day_max
        )
        self._site_limits = IntakeLimits(
            settings.new_links_per_site_a_day_max, settings.new_sites_per_site_a_day_max
        )

    def store(self, host: str, links: Iterable[FoundLink], now_s: float) -> DroppedLinks:
        rest = iter(links)
        package = IntakeSource(IntakeCount(), self._package_limits)
        examined = of_sources = 0
        while batch := list(islice(rest, min(intake.LINKS_AT_ONCE_MAX, self._links_max - examined))):
            examined += len(batch)
            with self._database.begin() as connection:
                of_sources += intake.accept_links(
                    connection, host, batch, package, self._host_limits, self._site_limits, now_s
                )
        dropped = DroppedLinks(sum(1 for _ in rest), of_sources)
        LINKS_DROPPED.inc(dropped.of_package + dropped.of_sources)
        return dropped

"""A database, a store, an index and a host that sends packages: what integrating needs."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import assignments, hosts, packages, sites
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import package_table
from ipmicra.model.ids import LeaseEpoch
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import seen

NOW = 1_800_000_000.0
CLAIM_S = 60.0
PAGE = seen(
    "https://bread.example/",
    "Bread",
    '<p>rye</p><a href="/own">own</a><a href="https://cake.example/a#top">cake</a>'
    '<a href="https://shy.example/" rel="nofollow">shy</a><a href="mailto:baker@bread.example">mail</a>',
)


class IntegrationHarness:
    """A database, a store, an index and a host that sends packages."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self.store = FilePackageStore(folder / "packages")
        self.settings = CoordinatorSettings(claim_seconds=CLAIM_S, compared_share=0.0)
        self.index = TantivyIndex(folder / "index", writable=True)
        with database.begin() as connection:
            hosts.register(connection, "lima", "token", NOW, 60)
            hosts.enrol(connection, "token", bytes(32), "192.0.2.1", NOW)
            assignments.record_assignments(connection, [("https://bread.example", "lima")], NOW)

    def worker(self, name: str = "worker") -> Integrator:
        return Integrator(self.database, self.store, self.index, name, self.settings)

    def send(self, data: bytes, sequence: int = 1, epoch: int = 0) -> bool:
        arrival = PackageArrival("lima", sequence, digest_of(data), LeaseEpoch(epoch), data)
        return packages.receive(self.database, self.store, arrival, NOW)

    def states(self) -> dict[str, int]:
        with self.database.read() as connection:
            return packages.counts(connection)

    def reason(self, sequence: int) -> str:
        with self.database.read() as connection:
            query = select(package_table.c.reason).where(package_table.c.sequence == sequence)
            return str(connection.execute(query).scalar_one())

    def found_sites(self) -> dict[str, int]:
        with self.database.read() as connection:
            return sites.counts(connection)

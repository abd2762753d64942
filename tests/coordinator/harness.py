"""A stage for the delegator: rows that are real, hosts that obey, a world of round trips, a clock by hand."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from ipmicra.coordinator.assignment import heartbeats
from ipmicra.coordinator.leader.loop import LeaderLoop
from ipmicra.coordinator.leader.site_resolver import ResolveResult
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import handovers, hosts, orders, sites
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.sites import SiteRow
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.delegation.subnets import NoSubnets, SubnetLookup
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Url
from ipmicra.protocol.host_messages import (
    AssignOwnSites,
    AssignSites,
    Heartbeat,
    OrderBody,
    OrderDone,
    Passive,
    Pause,
    ProbeResult,
    ProbeTargets,
    ReleaseSites,
    Resume,
    Retire,
)
from ipmicra.testing.strategy_referee import tree_of

START_S = 1_800_000_000.0
SETTINGS = CoordinatorSettings(strategy="ipmicra@50", lease_seconds=60, probe_seconds_max=10)

TREE = tree_of(
    ("198.51.100.0/24", "Bakers"),
    ("203.0.113.0/24", "Clockmakers"),
    ("192.0.2.0/24", "Lima's own"),
)


class TableLookups:
    """Look-ups that end at once, by a table."""

    capacity = 10_000

    def __init__(self, names: Mapping[str, ResolveResult]) -> None:
        self._names = names
        self._ended: dict[str, ResolveResult] = {}

    def begin(self, sites: Iterable[str]) -> None:
        self._ended |= {name: self._names.get(name, "no such name") for name in sites}

    def take_ended(self) -> dict[str, ResolveResult]:
        ended, self._ended = self._ended, {}
        return ended


class CoordinatorHarness:
    """`round_trips_ms[host, address]` is the world; `names[site]` is the DNS."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        tree: SubnetLookup | None = None,
        settings: CoordinatorSettings = SETTINGS,
    ) -> None:
        self.database = database
        self.store = FilePackageStore(folder / "packages")
        self.tree = NoSubnets() if tree is None else tree
        self.settings = settings
        self.now_s = START_S
        self.names: dict[str, ResolveResult] = {}
        self.round_trips_ms: dict[tuple[str, str], float] = {}
        self.said: dict[str, dict[str, object]] = {}  # who is alive, and what they report
        self.deaf: set[str] = set()  # alive, but they do nothing that they are told
        self.epochs: dict[str, int] = {}
        self.crawls: dict[str, dict[str, set[str]]] = {}  # host -> site -> links
        self.warm: list[tuple[str, str, bytes]] = []  # host, site, state: what was handed over
        self.probed: list[tuple[str, str]] = []  # host, address
        self.met: list[tuple[str, str]] = []  # host, "host:" and the name of another
        self.delegator = self.replica("first")

    def replica(self, name: str) -> LeaderLoop:
        return LeaderLoop(self.database, self.tree, self.settings, TableLookups(self.names), name)

    def site(self, name: str, *addresses: str, **round_trips_ms: float) -> str:
        """Make a site up, and how far the hosts are from it."""
        self.names[name] = tuple(ipaddress.ip_address(address) for address in addresses)
        for host, value in round_trips_ms.items():
            self.round_trips_ms |= {(host, address): value for address in addresses}
        return name

    def join(self, name: str, address: str = "198.18.0.1", **said: object) -> None:
        with self.database.begin() as connection:
            hosts.register(connection, name, f"token of {name}", self.now_s, 60)
            key = name.encode().ljust(32, b"\0")
            hosts.enrol(connection, f"token of {name}", key, address, self.now_s)
        self.said[name] = {"awake": True, **said}
        self.crawls[name] = {}
        self.report(name)

    def submit(self, *urls: str) -> None:
        with self.database.begin() as connection:
            sites.add_links(connection, [Url(url) for url in urls], self.now_s)

    def report(self, name: str, *done: OrderDone, passive: tuple[Passive, ...] = ()) -> None:
        heartbeat = msgspec.convert(self.said[name], Heartbeat)
        heartbeat = msgspec.structs.replace(heartbeat, done=done, passive=passive)
        with self.database.begin() as connection:
            epoch = hosts.renew_lease(connection, name, self.now_s, self.settings.lease_seconds)
            heartbeats.apply_heartbeat(connection, name, heartbeat, self.now_s)
        if epoch > self.epochs.get(name, epoch):
            self.crawls[name] = {}  # it had been given up: it lets go of everything
        self.epochs[name] = epoch

    def play(self, rounds: int = 12, step_s: float = 1.0) -> None:
        """Rounds of the leader and of the hosts."""
        for _ in range(rounds):
            self.delegator.tick(self.now_s)
            for name in list(self.said):
                self._obey(name)
            self.now_s += step_s

    def _obey(self, name: str) -> None:
        if name in self.deaf:
            self.report(name)
            return
        with self.database.begin() as connection:
            found = orders.open_orders(connection, name, self.now_s)
        self.report(name, *(self._done(name, order.number, order.body) for order in found))
        if any(isinstance(order.body, Retire) for order in found):
            self.dies(name)

    def _done(self, name: str, number: int, body: OrderBody) -> OrderDone:
        match body:
            case ProbeTargets(targets=targets):
                self.probed += [(name, target.address) for target in targets if not target.is_host]
                self.met += [(name, target.site) for target in targets if target.is_host]
                answers = tuple(
                    ProbeResult(site=t.site, address=t.address, round_trip_ms=self._ms(name, t.address))
                    for t in targets
                )
                return OrderDone(number=number, probes=answers)
            case AssignSites(grants=grants) | AssignOwnSites(sites=grants):
                for grant in grants:
                    if grant.has_state:
                        state = handovers.fetch_state(self.database, self.store, name, grant.site)
                        assert state is not None
                        self.warm.append((name, grant.site, state))
                    self.crawls[name].setdefault(grant.site, set()).update(grant.links)
            case Retire():
                for site in list(self.crawls[name]):
                    self._let_go(name, site, self.row(site).epoch)
            case Pause() | Resume():
                self.said[name]["awake"] = isinstance(body, Resume)
            case ReleaseSites(sites=released):
                for site, epoch in released:
                    self._let_go(name, site, epoch)
        self._assert_one_owner()
        return OrderDone(number=number)

    def _let_go(self, name: str, site: str, epoch: int) -> None:
        state = f"{name}'s state of {site}".encode()
        handovers.save_state(self.database, self.store, name, site, SiteEpoch(epoch), state, self.now_s)
        del self.crawls[name][site]

    def _ms(self, name: str, address: str) -> float | None:
        return self.round_trips_ms.get((name, address))

    def _assert_one_owner(self) -> None:
        owned = [site for name in self.said for site in self.crawls[name]]
        assert len(owned) == len(set(owned)), f"somebody crawls what is another's: {self.crawls}"

    def fetches(self, name: str, site: str, round_trip_ms: float | None, body_bytes: int = 1000) -> None:
        """The host reports a round trip of its ordinary work, or that it had none."""
        address = self.row(site).address
        seen = Passive(
            site=site, address=address, round_trip_ms=round_trip_ms, first_byte_ms=round_trip_ms,
            download_ms=round_trip_ms, fetches=1, body_bytes=body_bytes,
        )  # fmt: skip
        self.report(name, passive=(seen,))

    def dies(self, name: str) -> None:
        """Silent from now on, with all it knew."""
        del self.said[name]

    def ends(self, name: str, state: HostState) -> None:
        with self.database.begin() as connection:
            hosts.end_host(connection, name, state)
        self.dies(name)

    def row(self, site: str) -> SiteRow:
        with self.database.read() as connection:
            row = sites.site_named(connection, site)
        assert row is not None
        return row

    def owner(self, site: str) -> str | None:
        return self.row(site).crawler

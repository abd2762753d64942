"""How much does one coordinator process carry?

    python -m benchmarks coordinator [--database postgresql://...] [--hosts 2000]

Three figures, on SQLite and, where an address is given, on PostgreSQL beside it: sites delegated a second
among eight hosts (by probes, and where the subnet is known already), with the real tree of IPMICRA_DATA
(folders `rir-delegated-*` and `libloc-*`: 1.08 million IPv4 ranges) or one generated as large; packages and
pages integrated a second; and hosts that hold a long poll open: memory each, and how long a new order takes
to reach one of them. "Of processor" is by this process's CPU time, so that neighbours do not count, nor does
the database's own process.
"""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.console import Console
from rich.table import Table
from sqlalchemy import create_engine, text

from benchmarks.tree import generated, real_tree
from ipmicra.addresses import IPAddress
from ipmicra.carrier.package import digest_of, pack
from ipmicra.coordinator.assignment import heartbeats
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.leader.loop import LeaderLoop
from ipmicra.coordinator.leader.site_resolver import ResolveResult
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import assignments, hosts, orders, packages, sites
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.crawler.extraction import extract
from ipmicra.delegation.subnets import SubnetLookup, known_subnet
from ipmicra.hierarchy import build_tree
from ipmicra.lab.loopback.pages import made_sites
from ipmicra.model.ids import LeaseEpoch
from ipmicra.model.records import PageSeen
from ipmicra.model.urls import Url
from ipmicra.protocol.host_messages import (
    Heartbeat,
    Order,
    OrderDone,
    Pause,
    ProbeResult,
    ProbeTarget,
    ProbeTargets,
)
from ipmicra.protocol.signing import RequestSignature, signed_headers
from ipmicra.search.tantivy.index import TantivyIndex

SITES = 2_000
RANGES = 1_080_000  # of a generated tree
HOSTS = [f"host-{number}" for number in range(8)]
STRATEGIES = ("ipmicra@50", "adaptive")
PACKAGES, PAGES_EACH = 20, 100
POLL_PATH = "/v1/host/orders?wait=50"
SETTINGS = CoordinatorSettings(
    probes_per_second_max=1e9,
    probes_per_target_an_hour_max=10**9,
    sites_at_once_max=SITES,
)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    asked.add_argument("--database", help="a PostgreSQL database that may be emptied")
    asked.add_argument("--hosts", type=int, default=2_000)
    arguments = asked.parse_args()
    table = Table("figure", "sqlite", *(["postgresql"] if arguments.database else []))
    columns = []
    for kind in ["sqlite"] + (["postgresql"] if arguments.database else []):
        with tempfile.TemporaryDirectory(prefix="ipmicra-bench-") as folder:
            address = f"sqlite:///{folder}/rows.sqlite" if kind == "sqlite" else arguments.database
            columns.append(figures(Path(folder), address, arguments.hosts))
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    Console().print(table)


def figures(folder: Path, address: str, host_count: int) -> dict[str, str]:
    found: dict[str, str] = {}
    tasks = [partial(delegating_by, strategy) for strategy in STRATEGIES]
    tasks.append(partial(integrating, folder))
    for task in tasks:
        emptied(address)
        database = Database(address)
        try:
            found |= task(database)
        finally:
            database.close()
    emptied(address)
    return found | polling(address, folder, host_count)


def emptied(address: str) -> None:
    if address.startswith("sqlite"):
        for path in Path(address.removeprefix("sqlite:///")).parent.glob("rows.sqlite*"):
            path.unlink()
        return
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:", 1))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()


class Ground(NamedTuple):
    """Where the sites of the benchmark are: one address each, in as many subnets."""

    tree: SubnetLookup
    addresses: list[IPAddress]


class GeneratedNames:
    """Look-ups that end at once: the name of a site has the number of its address in it."""

    capacity = 10_000

    def __init__(self, addresses: list[IPAddress]) -> None:
        self._addresses = addresses
        self._ended: dict[str, ResolveResult] = {}

    def begin(self, sites: Iterable[str]) -> None:
        self._ended |= {name: (self._addresses[int(name[9:15])],) for name in sites}

    def take_ended(self) -> dict[str, ResolveResult]:
        ended, self._ended = self._ended, {}
        return ended


@cache
def ground() -> Ground:
    data = os.environ.get("IPMICRA_DATA")
    tree = real_tree(Path(data)) if data else build_tree(generated(RANGES)).tree
    dice = random.Random(5)
    addresses: dict[object, IPAddress] = {}
    while len(addresses) < SITES:
        address = ipaddress.IPv4Address(dice.randrange(1 << 24, 224 << 24))
        if (subnet := known_subnet(tree, address)) is not None:
            addresses[subnet] = address
    return Ground(tree, list(addresses.values()))


def delegating_by(strategy: str, database: Database) -> dict[str, str]:
    """Sites in as many subnets, then as many more in the same ones."""
    for name in HOSTS:
        enrol(database, name, Ed25519PrivateKey.generate())
    tree, addresses = ground()

    settings = msgspec.structs.replace(SETTINGS, strategy=strategy)
    delegator = LeaderLoop(database, tree, settings, GeneratedNames(addresses), "benchmark")
    found = {}
    for what, letter in (("probing", "a"), ("known already", "b")):
        with database.begin() as connection:
            names = [Url(f"https://{letter}{number:06}.example/") for number in range(SITES)]
            sites.add_links(connection, names, time.time())
        before = delegator.state.dispatcher.probes if delegator.state is not None else 0
        wall = cpu = 0.0
        while somebody_waits(database):
            begun, cpu_begun = time.perf_counter(), time.process_time()
            delegator.tick(time.time())
            wall, cpu = wall + time.perf_counter() - begun, cpu + time.process_time() - cpu_begun
            answer_orders(database)
        assert delegator.state is not None
        probes = delegator.state.dispatcher.probes - before
        found[f"{strategy}, {what}: sites/s"] = f"{SITES / wall:,.0f}"
        found[f"{strategy}, {what}: sites/s of processor"] = f"{SITES / cpu:,.0f}"
        found[f"{strategy}, {what}: probes per site"] = f"{probes / SITES:.2f}"
    delegator.resign(time.time())
    return found


def somebody_waits(database: Database) -> bool:
    with database.read() as connection:
        return "waiting" in sites.counts(connection)


def answer_orders(database: Database) -> None:
    for host in HOSTS:
        with database.begin() as connection:
            found = orders.open_orders(connection, host, time.time())
            report = Heartbeat(done=tuple(done(host, order) for order in found))
            heartbeats.apply_heartbeat(connection, host, report, time.time())


def done(host: str, order: Order) -> OrderDone:
    targets = order.body.targets if isinstance(order.body, ProbeTargets) else ()
    return OrderDone(number=order.number, probes=tuple(result(host, target) for target in targets))


def result(host: str, target: ProbeTarget) -> ProbeResult:
    """A round trip of 5 to 255 ms, the same whenever it is asked for."""
    block = target.address.rsplit(".", 2)[0]
    round_trip_ms = 5.0 + crc32(f"{host} {block}".encode()) % 250
    return ProbeResult(site=target.site, address=target.address, round_trip_ms=round_trip_ms)


def integrating(folder: Path, database: Database) -> dict[str, str]:
    enrol(database, "lima", Ed25519PrivateKey.generate())
    store = FilePackageStore(folder / "packages")
    made = made_sites(1, PACKAGES, PAGES_EACH)
    with database.begin() as connection:
        assignments.record_assignments(
            connection, [(f"http://{site.name}", "lima") for site in made], time.time()
        )
    for number, site in enumerate(made, start=1):
        records = []
        for path, page in site.pages.items():
            url = f"http://{site.name}{path}"
            seen = extract(page.html.encode(), "text/html; charset=utf-8", url)
            records.append(PageSeen(url=url, visit=1, fetched_at_ms=1, page=seen))
        data = pack(records, "lima", number)
        packages.receive(
            database,
            store,
            PackageArrival("lima", number, digest_of(data), LeaseEpoch(0), data),
            time.time(),
        )
    index = TantivyIndex(folder / f"index-{time.time_ns()}", writable=True)
    worker = Integrator(database, store, index, "benchmark", SETTINGS)
    begun, cpu = time.perf_counter(), time.process_time()
    while worker.integrate_pending(time.time()):
        pass
    took, cpu = time.perf_counter() - begun, time.process_time() - cpu
    index.close()
    pages = PACKAGES * PAGES_EACH
    return {
        "packages integrated/s": f"{PACKAGES / took:,.1f}",
        "pages integrated/s": f"{pages / took:,.0f}",
        "pages integrated/s of processor": f"{pages / cpu:,.0f}",
    }


def enrol(database: Database, name: str, key: Ed25519PrivateKey) -> None:
    now_s = time.time()
    with database.begin() as connection:
        hosts.register(connection, name, f"token of {name}", now_s, 60)
        public = key.public_key().public_bytes_raw()
        hosts.enrol(connection, f"token of {name}", public, "192.0.2.1", now_s)
        hosts.renew_lease(connection, name, now_s, 3600)
        hosts.save_report(connection, name, {"awake": True})


# --- long polls -----------------------------------------------------------------------------------


def polling(address: str, folder: Path, count: int) -> dict[str, str]:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    database = Database(address)
    keys = {f"host-{number}": Ed25519PrivateKey.generate() for number in range(count)}
    for name, key in keys.items():
        enrol(database, name, key)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "ipmicra", "--set", f"general.data_folder={folder}", "coordinator", "run",
         "--listen", f"127.0.0.1:{port}", "--database", address],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return asyncio.run(polled(database, port, process.pid, keys))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        database.close()


async def polled(
    database: Database, port: int, pid: int, keys: dict[str, Ed25519PrivateKey]
) -> dict[str, str]:
    await asyncio.to_thread(until_ready, port)
    before = memory_bytes(pid)
    lines = {name: await ask(port, name, key) for name, key in keys.items()}
    while waiting_polls(await asyncio.to_thread(read, port, "/metrics")) < len(keys):
        await asyncio.sleep(0.1)
    memory = memory_bytes(pid) - before
    delays = []
    for name in list(keys)[:20]:
        with database.begin() as connection:
            orders.give(connection, name, Pause(), "", time.time())
        begun = time.perf_counter()
        await lines[name][0].readuntil(b"\r\n\r\n")
        delays.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    await asyncio.to_thread(read, port, "/health")
    health = time.perf_counter() - begun
    for _, writer in lines.values():
        writer.close()
    return {
        "hosts holding a poll": f"{len(keys):,}",
        "memory a poll, KiB": f"{memory / len(keys) / 1024:,.1f}",
        "order to host, median ms": f"{sorted(delays)[len(delays) // 2] * 1000:,.0f}",
        "/health meanwhile, ms": f"{health * 1000:,.1f}",
    }


async def ask(
    port: int, name: str, key: Ed25519PrivateKey
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    claim = RequestSignature(name, "orders", time.time_ns() // 1_000_000, 1, b"")
    headers = signed_headers(key, "POST", POLL_PATH, b"", claim)
    head = "".join(f"{header}: {value}\r\n" for header, value in headers.items())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST {POLL_PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n{head}\r\n".encode())
    await writer.drain()
    return reader, writer


def waiting_polls(metrics: str) -> int:
    return int(
        next(line for line in metrics.splitlines() if line.startswith("ipmicra_polls")).split()[1]
    )


def until_ready(port: int) -> None:
    while True:
        try:
            read(port, "/ready")
            return
        except OSError:
            time.sleep(0.1)


def read(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        told: str = answer.read().decode()
        return told


def memory_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()

"""How fast are registry files read: RPSL in MB/s, delegated statistics in lines/s, of one core?

RPSL text like RIPE's split files (inetnum, inet6num, organisation) is generated; delegated lines are those
of IPMICRA_DATA where that is set, repeated to a million, else generated. Rivals read the same bytes: a
plain line-by-line parser as most scripts have it, and rpsl-parser (a Rust extension), where installed.
CPU time of this process counts, since neighbours make wall time useless; the least of three rounds in
which the readers take turns. The last column says how many times the line-by-line parser each reader is:
that lasts where MB/s change with the machine and its neighbours.

Asked for: RPSL at 60 MB/s or better, delegated files at 1 million lines/s or better.
"""

from __future__ import annotations

import gzip
import importlib
import io
import os
import random
import resource
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ipmicra.registry.decompression import decompressed
from ipmicra.registry.files import read_stream
from ipmicra.registry.formats import DELEGATED, LIBLOC_NETWORKS, RPSL, Format
from ipmicra.registry.organisation_join import FAMILIES, allocations_of
from ipmicra.registry.parsers.accumulator import Accumulator

INETNUM_BYTES, OTHER_BYTES = 100_000_000, 30_000_000
LINES = 1_000_000
ROUNDS = 3
LINE_BY_LINE = "line by line"
SEED = 7

REST = """\
created:        2002-07-05T09:12:33Z
last-modified:  2014-03-05T10:12:13Z
source:         RIPE
remarks:        ****************************
remarks:        * THIS OBJECT IS MODIFIED
remarks:        * Please note that all data that is generally regarded as personal
remarks:        * data has been removed from this object.
remarks:        * To view the original object, please query the RIPE Database at:
remarks:        * http://www.ripe.net/whois
remarks:        ****************************

"""
NETWORK = (
    """\
{range}
netname:        NET-{number}
descr:          Customer Number {number} Ltd
descr:          {street} {number}
descr:          {number} Somewhere
country:        {country}
{org}admin-c:        DUMY-RIPE
tech-c:         DUMY-RIPE
status:         ASSIGNED PA
{remarks}mnt-by:         NET-{number}-MNT
"""
    + REST
)
ORGANISATION = (
    """\
organisation:   ORG-X{number}-RIPE
org-name:       Customer Number {number} Ltd
org-type:       OTHER
address:        {street} {number}
address:        {number} Somewhere
country:        {country}
phone:          +49 30 {number}
{remarks}mnt-ref:        NET-{number}-MNT
mnt-by:         NET-{number}-MNT
"""
    + REST
)


def rpsl_text(size_bytes: int, form: str, range_of: Callable[[random.Random], str]) -> bytes:
    """Objects of different lengths, one in ten with an organisation, one in fifty with many remarks."""
    dice = random.Random(SEED)
    objects: list[bytes] = []
    made = 0
    while made < size_bytes:
        number = dice.randrange(1_000_000)
        text = form.format(
            range=range_of(dice),
            street=dice.choice(("High Street", "Hauptstraße", "Rue de la Gare")),
            number=number,
            country=dice.choice(("DE", "FR", "NL", "GB", "RU")),
            org=f"org:            ORG-X{number}-RIPE\n" if dice.random() < 0.1 else "",
            remarks="remarks:        to whom it may concern\n" * (20 if dice.random() < 0.02 else 0),
        )
        encoded = text.encode("latin-1" if dice.random() < 0.5 else "utf-8")
        objects.append(encoded)
        made += len(encoded)
    return b"".join(objects)


def v4_range(dice: random.Random) -> str:
    first = dice.randrange(1 << 24, 223 << 24)
    return f"inetnum:        {ip_address(first)} - {ip_address(first + dice.choice((0, 3, 7, 15, 255)))}"


def v6_range(dice: random.Random) -> str:
    return f"inet6num:       {IPv6Address(0x2001 << 112 | dice.getrandbits(32) << 80)}/48"


def no_range(dice: random.Random) -> str:
    return ""


def delegated_text(lines: int) -> bytes:
    """Real lines where there are some, else lines like them."""
    folder = os.environ.get("IPMICRA_DATA")
    found = sorted(Path(folder).rglob("delegated-*-extended-latest*")) if folder else []
    if found:
        text = b"".join(decompressed(io.BytesIO(path.read_bytes())).read(1 << 30) for path in found)
        return text * (1 + lines // text.count(b"\n"))
    dice = random.Random(SEED)
    return b"".join(
        b"ripencc|%s|ipv4|%s|%d|20100712|allocated|%032x\n"
        % (
            dice.choice((b"DE", b"FR", b"NL")),
            str(ip_address(dice.randrange(1 << 24, 223 << 24) & ~255)).encode(),
            dice.choice((256, 1024, 65536)),
            dice.randrange(100_000),
        )
        for _ in range(lines)
    )


def networks_text() -> bytes:
    folder = os.environ.get("IPMICRA_DATA")
    found = sorted(Path(folder).rglob("networks.tsv.gz")) if folder else []
    return gzip.decompress(found[0].read_bytes()) if found else b""


def ours(form: Format) -> Callable[[bytes], int]:
    def read(text: bytes) -> int:
        gathering = Accumulator()
        read_stream(io.BytesIO(text), "benchmark", form, gathering)
        for family in FAMILIES:
            gathering.columns(family)
        return gathering.tally.read

    return read


def ours_joined(text: bytes) -> int:
    """The same up to finished allocations: names decoded, organisations told apart."""
    gathering = Accumulator()
    read_stream(io.BytesIO(text), "benchmark", RPSL, gathering)
    allocations_of(gathering)
    return gathering.tally.read


def line_by_line_rpsl(text: bytes) -> int:
    objects: list[tuple[object, ...]] = []
    found: dict[str, str] = {}
    for line in io.TextIOWrapper(io.BytesIO(text), "latin-1"):
        if line == "\n":
            if "inetnum" in found:
                first, _, last = found["inetnum"].partition(" - ")
                bounds = (int(ip_address(first)), int(ip_address(last)))
                objects.append((*bounds, found.get("org"), found.get("descr"), found.get("country")))
            elif "inet6num" in found:
                block = ip_network(found["inet6num"])
                objects.append((block, found.get("org"), found.get("descr"), found.get("country")))
            elif "organisation" in found:
                objects.append((found["organisation"], found.get("org-name"), found.get("country")))
            found = {}
            continue
        name, _, value = line.partition(":")
        found.setdefault(name, value.strip())
    return len(objects)


def rpsl_parser() -> dict[str, Callable[[bytes], int]]:
    """The Rust extension: an object at a time, ranges stay text, and it knows ASCII only."""
    try:
        library: Any = importlib.import_module("rpsl_parser")
    except ImportError:
        return {}

    def read(text: bytes) -> int:
        objects = text.decode("latin-1").encode("ascii", "replace").decode().split("\n\n")
        return len([dict(library.parse_rpsl_object(part + "\n\n")) for part in objects if part])

    return {"rpsl-parser": read}


def line_by_line_delegated(text: bytes) -> int:
    networks = []
    for line in text.decode("ascii").splitlines():
        fields = line.split("|")
        if len(fields) >= 7 and fields[6] in ("allocated", "assigned") and fields[2] != "asn":
            first = int(ip_address(fields[3]))
            size = int(fields[4]) if fields[2] == "ipv4" else 1 << (128 - int(fields[4]))
            networks.append((first, first + size, fields[1], fields[7] if len(fields) > 7 else ""))
    return len(networks)


def least_cpu_s(readers: dict[str, Callable[[bytes], int]], text: bytes) -> dict[str, tuple[float, int]]:
    """CPU seconds and records found of each reader."""
    times: dict[str, list[float]] = {name: [] for name in readers}
    counts: dict[str, int] = {}
    for _ in range(ROUNDS):
        for name, read in readers.items():
            begin = time.process_time()
            counts[name] = read(text)
            times[name].append(time.process_time() - begin)
    return {name: (min(times[name]), counts[name]) for name in readers}


def main() -> None:
    table = Table(
        "format", "reader", "records", "CPU s", "MB/s", "million lines/s", "times line by line"
    )
    rpsl = {"ipmicra, to columns": ours(RPSL), "ipmicra, to allocations": ours_joined}
    rivals = {LINE_BY_LINE: line_by_line_rpsl, **rpsl_parser()}
    _measure(table, "RPSL inetnum", rpsl_text(INETNUM_BYTES, NETWORK, v4_range), {**rpsl, **rivals})
    _measure(table, "RPSL inet6num", rpsl_text(OTHER_BYTES, NETWORK, v6_range), {**rpsl, **rivals})
    _measure(
        table, "RPSL organisation", rpsl_text(OTHER_BYTES, ORGANISATION, no_range), {**rpsl, **rivals}
    )
    delegated = {"ipmicra, to columns": ours(DELEGATED), LINE_BY_LINE: line_by_line_delegated}
    _measure(table, "delegated", delegated_text(LINES), delegated)
    networks = networks_text()
    if networks:
        _measure(table, "IPFire networks", networks, {"ipmicra, to columns": ours(LIBLOC_NETWORKS)})
    Console(width=110).print(table)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")


def _measure(table: Table, form: str, text: bytes, readers: dict[str, Callable[[bytes], int]]) -> None:
    lines = text.count(b"\n")
    measured = least_cpu_s(readers, text)
    for name, (taken_s, count) in measured.items():
        speed = f"{len(text) / taken_s / 1e6:.0f}", f"{lines / taken_s / 1e6:.2f}"
        ratio = f"{measured[LINE_BY_LINE][0] / taken_s:.2f}" if LINE_BY_LINE in measured else ""
        table.add_row(form, name, f"{count:,}", f"{taken_s:.2f}", *speed, ratio)
    table.add_section()


if __name__ == "__main__":
    main()

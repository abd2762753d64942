"""Faults of a coordinator, its worker and its hosts, inflicted on real processes one at a time.

Each fault ends with all processes running again. Clocks are changed by libfaketime, disks filled by the
kernel's limit on the size of files: the programs cannot tell the difference.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from sqlalchemy import update

from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import package_table
from tests.coordinator.world import World
from tests.system_parts import needed

FULL_BYTES = "2000"  # no file grows beyond this while a disk is full
LEASE_S = 12


class Clock:
    """A clock that a process goes by, to be turned while it runs."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.turn(0)

    def turn(self, seconds: int) -> None:
        self._file.write_text(f"{seconds:+d}s")

    @property
    def environment(self) -> dict[str, str]:
        needed("faketime")
        library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "NO_FAKE_STAT": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }


class Chaos:
    """Inflicts faults at random. `hosts` are those that may be hit."""

    def __init__(self, world: World, hosts: list[str], dice: random.Random) -> None:
        self._world, self._hosts, self._dice = world, hosts, dice
        self._clocks = {name: Clock(world.folder / f"{name}.clock") for name in (*hosts, "coordinator")}
        for name in hosts:
            world.environments[name] = self._clocks[name].environment
        world.coordinator.environment = self._clocks["coordinator"].environment
        self.strikes: dict[str, Callable[[], None]] = {
            "a host is killed": lambda: self._kill_host(0.0),
            "a host is killed and away past its lease": lambda: self._kill_host(LEASE_S + 3.0),
            "the coordinator is killed": lambda: self._kill_coordinator(0.0),
            "the coordinator is away": lambda: self._kill_coordinator(5.0),
            "the worker is killed": self._kill_worker,
            "a host's disk is full": self._fill_hosts_disk,
            "the coordinator's disk is full": self._fill_coordinators_disk,
            "a host's clock jumps": self._turn_hosts_clock,
            "the coordinator's clock jumps": self._turn_coordinators_clock,
            "packages come again, in another order": self._repeat_packages,
        }
        self._drawn = self._draws()

    def strike(self, times: int) -> list[str]:
        """As drawn, with a pause of some moments before each. Returns what was done."""
        done = list(islice(self._drawn, times))
        for kind in done:
            time.sleep(self._dice.uniform(0.3, 1.5))
            self.strikes[kind]()
        return done

    def _draws(self) -> Iterator[str]:
        """Every kind once in random order, and again."""
        while True:
            kinds = list(self.strikes)
            self._dice.shuffle(kinds)
            yield from kinds

    def calm(self) -> None:
        """All clocks right again."""
        for clock in self._clocks.values():
            clock.turn(0)

    # --- strikes ------------------------------------------------------------

    def _kill_host(self, away_s: float) -> None:
        name = self._dice.choice(self._hosts)
        self._world.kill_host(name)
        time.sleep(away_s)
        self._world.start_host(name)

    def _kill_coordinator(self, away_s: float) -> None:
        self._world.coordinator.stop(signal.SIGKILL)
        time.sleep(away_s)
        self._world.coordinator.start()

    def _kill_worker(self) -> None:
        self._world.kill_worker()
        self._world.start_worker()

    def _fill_hosts_disk(self) -> None:
        """A host may end with a fault that says so; run again with room, it goes on."""
        name = self._dice.choice(self._hosts)
        process = self._world.hosts[name]
        self._full_disk(process, 2.0)
        if process.poll() is not None:
            self._world.start_host(name)

    def _fill_coordinators_disk(self) -> None:
        process = self._world.coordinator.process
        assert process is not None
        self._full_disk(process, 2.0)
        assert process.poll() is None, "a full disk is no reason for a coordinator to end"

    def _full_disk(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        if process.poll() is not None:
            return
        before = {pid: file_bytes_max(pid) for pid in self._reached_by_a_full_disk(process)}
        for pid in before:
            limit_files(pid, FULL_BYTES)
        time.sleep(seconds)
        process.poll()
        for pid, most in before.items():
            limit_files(pid, most)

    def _reached_by_a_full_disk(self, process: subprocess.Popen[bytes]) -> list[int]:
        return [process.pid]

    def _turn_hosts_clock(self) -> None:
        """A good deal ahead for a moment, then some seconds behind."""
        clock = self._clocks[self._dice.choice(self._hosts)]
        clock.turn(45)
        time.sleep(2.0)
        clock.turn(-15)

    def _turn_coordinators_clock(self) -> None:
        """Hours ahead, killed there, and half a minute behind when it comes back."""
        self._clocks["coordinator"].turn(7_200)
        time.sleep(1.5)
        self._kill_coordinator(0.0)
        time.sleep(1.5)
        self._clocks["coordinator"].turn(-30)
        self._kill_coordinator(0.0)

    def _repeat_packages(self) -> None:
        """As if workers had died after the index had everything and before the rows did, all at once."""
        database = Database(self._world.coordinator.database)
        try:
            with database.begin() as connection:
                connection.execute(
                    update(package_table)
                    .where(package_table.c.state == "integrated")
                    .values(state="kept", received_s=-package_table.c.received_s)
                )
        finally:
            database.close()


def file_bytes_max(pid: int) -> str:
    """How large a file the process may write, in the words of `prlimit`."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line.split()[3] for line in lines if line.startswith("Max file size"))


def limit_files(pid: int, most: str) -> None:
    """Limit the size of files, as the process's own user; the process may have ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return
    user, group = (int(line.split()[1]) for line in status if line.startswith(("Uid:", "Gid:")))
    words = ["prlimit", "--pid", str(pid), f"--fsize={most}:"]
    done = subprocess.run(words, user=user, group=group, check=False)
    assert done.returncode == 0 or not Path(f"/proc/{pid}").exists()

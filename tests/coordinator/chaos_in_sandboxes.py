"""Faults of crawlers in sandboxes, inflicted on the real processes.

Invariant: the end of a host ends all that it had started, at once; a full disk is full for the crawler
too.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from ipmicra.host.sandbox.code import own_code
from tests.coordinator.chaos import Chaos
from tests.coordinator.world import World

SECONDS_TO_END_MAX = 5.0
SECONDS_TO_BEGIN_MAX = 60.0


class SandboxedChaos(Chaos):
    """Strikes that reach into the sandboxes. `ended` counts the processes in them that were seen to end."""

    def __init__(self, world: World, hosts: list[str], dice: random.Random) -> None:
        super().__init__(world, hosts, dice)
        self.ended = 0
        self.strikes["a crawler's code is killed"] = self._kill_code

    def _kill_host(self, away_s: float) -> None:
        name = self._dice.choice(self._hosts)
        self._world.hosts[name].send_signal(signal.SIGSTOP)  # so that it starts nothing unseen
        started = started_by(self._world.hosts[name].pid)
        self._world.kill_host(name)
        self._wait_for_the_end(started)
        time.sleep(away_s)
        self._world.start_host(name)

    def _kill_code(self) -> None:
        """Its host survives, and starts it again."""
        name = self._dice.choice(self._hosts)
        code = self._code_of(name)
        os.kill(code, signal.SIGKILL)
        self._wait_for_the_end([code])
        assert self._code_of(name) != code
        assert self._world.hosts[name].poll() is None, "code that ends does not end its dock"

    def _reached_by_a_full_disk(self, process: subprocess.Popen[bytes]) -> list[int]:
        return [process.pid, *filter(is_code, started_by(process.pid))]

    def _code_of(self, name: str) -> int:
        """The process of a host's crawler, once it has one."""
        end = time.monotonic() + SECONDS_TO_BEGIN_MAX
        while not (codes := [pid for pid in started_by(self._world.hosts[name].pid) if is_code(pid)]):
            assert time.monotonic() < end, f"{name} has no crawler in a sandbox\n{self._world.logs()}"
            time.sleep(0.05)
        return codes[0]

    def _wait_for_the_end(self, pids: list[int]) -> None:
        end = time.monotonic() + SECONDS_TO_END_MAX
        while left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
            assert time.monotonic() < end, f"processes {left} have outlived their sandbox"
            time.sleep(0.02)
        self.ended += len(pids)


def is_code(pid: int) -> bool:
    """Whether it is a crawler's code; not bubblewrap, and not what tries out the guards."""
    try:
        program, *words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return b"bwrap" not in program and any(own_code().program.encode() in word for word in words)


def started_by(pid: int) -> list[int]:
    """All processes that a process has started, directly or not."""
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *started_by(child)]
    return found

"""A BoxWorld and a folder -> the box with its sites being served: what every claim plays on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ipmicra.errors import OurFault
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.lab.box.world.world_file import write_world
from ipmicra.lab.loopback.server import Asked

WORLD, ACCESS_LOG, SERVER_LOG = "world.toml", "access.log", "sites.log"


@contextmanager
def staged(world: BoxWorld, folder: Path) -> Iterator[NetworkBox]:
    """The box, its sites answering; logs and the world's file are in the folder."""
    write_world(folder / WORLD, world)
    with NetworkBox(world) as box, (folder / SERVER_LOG).open("ab") as log:
        server = box.sites.start(
            [
                sys.executable,
                "-m",
                "ipmicra.lab.box.processes.sites",
                folder / WORLD,
                folder / ACCESS_LOG,
            ],
            stdout=subprocess.PIPE,
            stderr=log,
        )
        try:
            assert server.stdout is not None
            if server.stdout.readline() != b"ready\n":
                raise OurFault(f"the box's sites did not start: {(folder / SERVER_LOG).read_text()}")
            box.begin()
            yield box
        finally:
            server.kill()
            server.communicate()


def access_log(folder: Path) -> list[Asked]:
    """What the sites were asked so far, as far as it is written out; moments of the monotonic clock."""
    lines = (folder / ACCESS_LOG).read_text(encoding="utf-8").split("\n")[:-1]
    return [_asked(line) for line in lines]


def _asked(line: str) -> Asked:
    at_s, by, site, method, path, status = line.split("\t")
    return Asked(float(at_s), by, site, method, path, int(status))

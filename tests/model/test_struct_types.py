"""Structs that several threads decode first: the process survives when their types were built before."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable

import pytest

from ipmicra.cli import overlay_peer
from ipmicra.cli.commands.coordinator import work
from ipmicra.coordinator.api import server
from ipmicra.host.daemon import HostDaemon
from ipmicra.host.hosted.guest import program
from ipmicra.search.http import application

LONG_RUNNING: list[Callable[..., object] | None] = [
    server.run,
    work.command.callback,
    HostDaemon.run,
    program.run_guest,
    application.serve,
    overlay_peer.serve,
]

RACE = """
import sys, threading, types
import msgspec
from ipmicra.model.struct_types import build_struct_types

sys.setswitchinterval(1e-6)
module = types.ModuleType("ipmicra.raced")
sys.modules["ipmicra.raced"] = module
source = "".join(
    f"class Inner{n}(msgspec.Struct):\\n    x: int = 0\\n    y: tuple[float, ...] = ()\\n"
    f"class Outer{n}(msgspec.Struct):\\n    a: Inner{n} | None = None\\n    b: list[Inner{n}] = []\\n"
    for n in range(400)
)
module.__dict__["msgspec"] = msgspec
exec("from __future__ import annotations\\n" + source, module.__dict__)
assert build_struct_types() >= 800
barrier = threading.Barrier(6)

def decode():
    for n in range(400):
        barrier.wait()
        msgspec.json.decode(b'{"a":{"x":1},"b":[{"x":2}]}', type=getattr(module, f"Outer{n}"))

threads = [threading.Thread(target=decode) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("decoded")
"""


def test_threads_may_decode_structs_whose_types_were_built() -> None:
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "decoded\n"), done.stderr


@pytest.mark.parametrize("begin", LONG_RUNNING, ids=lambda begin: f"{begin.__module__}.{begin.__name__}")
def test_a_program_that_decodes_in_threads_builds_the_types_first(begin: Callable[..., object]) -> None:
    assert "    build_struct_types()\n" in inspect.getsource(inspect.unwrap(begin))

"""Structs that several threads decode first: the process survives when their types were built before."""

from __future__ import annotations

import subprocess
import sys

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

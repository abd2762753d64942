"""A host in a separate process, with an adversary in its sandbox that wants to outlive it.

    python -m tests.host.sandbox.lone_host FOLDER ATTACK

Prints the adversary's process and what it was told, and then waits to be killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.host.sandbox.adversary_harness import attack


async def main(folder: Path, name: str) -> None:
    async with attack(folder, name, more={"stay": True}) as tried:
        stopped = await tried.over()
        told = {"pid": tried.berth.pid, "stopped": stopped, "log": tried.log}
        sys.stdout.write(f"{json.dumps(told)}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

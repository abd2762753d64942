"""A sandbox, watched a few times a second -> held up, let on, or ended, as the owner's limits say.

| what is seen                                        | what is done                              |
|-----------------------------------------------------|-------------------------------------------|
| more processor or bytes a second than were lent     | frozen until the mean is right again      |
| the host rests                                      | frozen, but while the dock asks something |
| more disk or more files than were lent              | ended, and written down                   |

Law: frozen code executes nothing, whatever it does about signals. Memory, the size of a file, open files
and threads are the kernel's to limit, processes the filter's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox import usage
from ipmicra.host.sandbox.launch import Sandbox
from ipmicra.host.sandbox.spec import SandboxLimits

LOOK_SECONDS = 0.1
DISK_LOOKS = 3  # every so many looks at the processor, one at the disk


class ResourceMonitor:
    """Watches one sandbox. `on_break` is told what limit was broken, and ends it."""

    def __init__(
        self,
        sandbox: Sandbox,
        state: Path,
        limits: SandboxLimits,
        meter: UsageMeter,
        on_look: Callable[[], None],
        on_break: Callable[[str], None],
    ) -> None:
        self.resting = True
        self._sandbox, self._state, self._limits, self._meter = sandbox, state, limits, meter
        self._on_look, self._on_break = on_look, on_break
        self._asked, self._frozen, self._cpu_seen = 0, False, 0.0

    async def watch(self) -> None:
        """Until cancelled."""
        looks = 0
        while True:
            self._on_look()
            self.look()
            if looks % DISK_LOOKS == 0:
                await self._look_at_disk()
            looks += 1
            await asyncio.sleep(LOOK_SECONDS)

    def look(self) -> None:
        """Freeze or thaw, as things are now."""
        cpu = usage.cpu_seconds(self._sandbox.pid)
        self._meter.used_elsewhere(max(0.0, cpu - self._cpu_seen))
        self._cpu_seen = max(cpu, self._cpu_seen)
        over = self._meter.pace.seconds_to_wait() > 0
        self._freeze((over or self.resting) and not self._asked)

    @contextmanager
    def awake(self) -> Iterator[None]:
        """While the dock wants something of the code, it may run."""
        self._asked += 1
        self._freeze(False)
        try:
            yield
        finally:
            self._asked -= 1
            if self.resting and not self._asked:
                self._freeze(True)

    def _freeze(self, frozen: bool) -> None:
        if frozen != self._frozen:
            self._frozen = frozen
            (self._sandbox.freeze if frozen else self._sandbox.thaw)()

    async def _look_at_disk(self) -> None:
        found = await asyncio.to_thread(usage.disk, self._sandbox.pid, self._state)
        if found.files > usage.FILES_MAX:
            self._on_break(f"the crawler's code keeps over {usage.FILES_MAX:,} files")
        elif found.taken_bytes > self._limits.disk_bytes_max:
            most = self._limits.disk_bytes_max
            self._on_break(f"the crawler's code takes {found.taken_bytes:,} bytes of disk, of {most:,}")

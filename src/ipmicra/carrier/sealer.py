"""A spool's full journals -> packages, in a thread beside the one that appends.

Invariant: one journal at a time, in their order. What is sealed is committed (the spool's invariant), and
stays in its journal until its package is durable; so a death in between costs nothing but doing it
again. Packing takes as much memory as the records themselves, so what others have freed is returned
before.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

from ipmicra.carrier.allocator import release_memory
from ipmicra.carrier.package import PackageFile
from ipmicra.carrier.spool import Spool


class Sealer:
    """Compresses in a thread without blocking others: zstd releases the interpreter, and encoding yields
    often.
    """

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sealing")
        self._under_way: Future[PackageFile] | None = None

    def seal_if_due(self, now_s: float) -> int:
        """Begin to seal where that is due. Returns the number of packages finished since the last call."""
        finished = self._finish(wait=False)
        if self._under_way is None:
            full = self._spool.rotate_if_due(now_s)
            if full is not None:
                release_memory()
                self._under_way = self._thread.submit(self._spool.pack_journal, full)
        return finished

    def wait(self) -> int:
        """Wait until nothing is in progress. Returns the number of packages finished since the last call."""
        return self._finish(wait=True)

    async def seal(self) -> int:
        """Seal everything now, after what is in progress. Returns the number of packages made."""
        finished = 0
        while self._under_way is not None:
            await asyncio.wait([asyncio.wrap_future(self._under_way)])
            finished += self._finish(wait=False)
        return finished + (self._spool.seal() is not None)

    def finish(self) -> int:
        """Seal everything, then close. Returns the number of packages finished since the last call."""
        try:
            return self._finish(wait=True) + (self._spool.seal() is not None)
        finally:
            self.close()

    def close(self) -> None:
        """End after what is in progress."""
        self._thread.shutdown()

    def _finish(self, wait: bool) -> int:
        if self._under_way is None or not (wait or self._under_way.done()):
            return 0
        done, self._under_way = self._under_way, None
        done.result()
        return 1

"""Output of dispatched code -> a limited number of lines in the host's log.

Invariant: the pipe is always emptied, so printing never blocks the code; the rest is discarded.
"""

from __future__ import annotations

import asyncio
import os

from ipmicra.host.sandbox.monitor.throttled_log import ThrottledLog

_BYTES_AT_ONCE = 65_536


class OutputReader:
    """Reads a pipe."""

    def __init__(self, pipe: int, log: ThrottledLog) -> None:
        self._pipe, self._log, self._unfinished = pipe, log, b""
        asyncio.get_running_loop().add_reader(pipe, self._read)

    def close(self) -> None:
        self._read()
        asyncio.get_running_loop().remove_reader(self._pipe)

    def _read(self) -> None:
        try:
            text = os.read(self._pipe, _BYTES_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            text = b""
        if not text:
            asyncio.get_running_loop().remove_reader(self._pipe)
        *lines, self._unfinished = (self._unfinished + text).split(b"\n")
        self._unfinished = self._unfinished[-_BYTES_AT_ONCE:]
        for line in lines:
            if line.strip():
                self._log.add(f"the crawler's code prints: {line.decode(errors='replace').strip()}")

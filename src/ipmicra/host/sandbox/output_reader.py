"""What dispatched code prints -> lines in the host's log, few of them.

Law: the pipe is always emptied, so code that prints is never held up by it; what is not worth a line is
thrown away.
"""

from __future__ import annotations

import asyncio
import os

from ipmicra.host.sandbox.throttled_log import ThrottledLog

_BYTES_AT_ONCE = 65_536


class OutputReader:
    """Reads a pipe."""

    def __init__(self, pipe: int, remarks: ThrottledLog) -> None:
        self._pipe, self._remarks, self._unfinished = pipe, remarks, b""
        asyncio.get_running_loop().add_reader(pipe, self._read)

    def close(self) -> None:
        self._read()
        asyncio.get_running_loop().remove_reader(self._pipe)

    def _read(self) -> None:
        try:
            said = os.read(self._pipe, _BYTES_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if not said:
            asyncio.get_running_loop().remove_reader(self._pipe)
        *lines, self._unfinished = (self._unfinished + said).split(b"\n")
        self._unfinished = self._unfinished[-_BYTES_AT_ONCE:]
        for line in lines:
            if line.strip():
                self._remarks.add(f"the crawler's code says: {line.decode(errors='replace').strip()}")

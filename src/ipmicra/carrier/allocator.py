"""Memory that the process has freed -> memory returned to the system, when that is worth its cost.

Invariant: nothing here changes what a crawl does, only how much memory it holds. Where the C library is
not glibc, nothing is done.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h
_KEPT_BYTES = 16 << 20  # glibc's trimming after every page would cost half of the speed of tree parsing
_OWN_MAPPING_BYTES = 1 << 20  # larger buffers, such as packages', go back as soon as they are freed


def tune_allocator() -> None:
    """Ask not to give memory back after every page, and to use one heap for all threads.

    The thread that seals has its turns with the others, and fills the holes that they have left.
    """
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        libc.mallopt(_M_MMAP_THRESHOLD, _OWN_MAPPING_BYTES)
        libc.mallopt(_M_ARENA_MAX, 1)


def release_memory() -> None:
    """Return every empty page of the heap to the system, also those below a page in use.

    Pages' texts wait for their package between what was freed around them, so that half of a crawler's heap
    would be such holes. A call takes about 3 ms: call it once per package, not once per page.
    """
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


@lru_cache(1)
def _glibc() -> ctypes.CDLL | None:
    try:
        libc = ctypes.CDLL("libc.so.6")
        return libc if libc.mallopt and libc.malloc_trim else None
    except (OSError, AttributeError):
        return None

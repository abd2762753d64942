"""The folder of an index, as a death or a power cut left it -> an index that can be opened.

Invariant: a damaged index keeps nobody from starting: it is moved out of the way, and whoever holds the
packages makes it anew from them. A fault of the disk does keep them.
"""

from __future__ import annotations

import logging
from pathlib import Path

from ipmicra.search import rebuild
from ipmicra.search.contract import IndexDamaged
from ipmicra.search.factory import open_index

_log = logging.getLogger(__name__)


def open_or_set_aside(index_folder: Path) -> str | None:
    """Finish a swap, and move an index that cannot be read out of the way: the reason, or None."""
    rebuild.finish_swap(index_folder)
    try:
        open_index(index_folder).close()
    except IndexDamaged as damage:
        with rebuild.writing(index_folder):
            aside = rebuild.set_aside(index_folder)
        _log.error("the search index is damaged", extra={"why": damage.what})
        return f"{damage.what}; the damaged files are in {aside.name}"
    return None

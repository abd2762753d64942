"""A folder -> the search index in it. Invariant: the only place that names an engine.

An engine that passes `ipmicra.testing.check_index` is chosen here, and nowhere else is anything to change.
"""

from __future__ import annotations

from pathlib import Path

from ipmicra.search.contract import SearchIndex
from ipmicra.search.tantivy.index import TantivyIndex

INDEX_FOLDER = "index"  # under the data folder


def open_index(folder: Path, *, writable: bool = False, fills: bool = True) -> SearchIndex:
    """Open the index; `writable` for one process at a time. Raises IndexDamaged, OperatorFault.

    A reader that `fills` brings an index of an earlier version up to date first.
    """
    return TantivyIndex(folder, writable=writable, fills=fills)

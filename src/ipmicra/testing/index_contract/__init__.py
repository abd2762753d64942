"""How to open a search index -> whether it keeps the promises of `SearchIndex`.

Each module has the promises of one subject: integration, finding, ranking, hits, limits. Invariant: each
promise gets a new index in an empty folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ipmicra.search.contract import SearchIndex
from ipmicra.testing.index_contract import finding, hits, integration, limits, ranking
from ipmicra.testing.index_contract.promises import DURABLE_INDEX, INDEX, OpenIndex

__all__ = ["DURABLE_INDEX", "INDEX", "MODULES", "check_index", "new_folder", "new_index"]

MODULES = (integration, finding, ranking, hits, limits)


def check_index(open_index: Callable[[Path], SearchIndex]) -> None:
    """Check a search index. `open_index` opens the index in a folder, to write. Raises PromiseBroken."""
    INDEX.check(lambda: new_index(open_index))
    DURABLE_INDEX.check(lambda: new_folder(open_index))


@contextmanager
def new_index(open_index: Callable[[Path], SearchIndex]) -> Iterator[SearchIndex]:
    """A new index, closed in the end."""
    with new_folder(open_index) as open_here, closing(open_here()) as index:
        yield index


@contextmanager
def new_folder(open_index: Callable[[Path], SearchIndex]) -> Iterator[OpenIndex]:
    """How to open an index in a new folder."""
    with tempfile.TemporaryDirectory(prefix="ipmicra-index-") as folder:
        yield lambda: open_index(Path(folder))

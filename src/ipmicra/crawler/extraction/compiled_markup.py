"""The compiled half of extraction (`native/markup`), where it is installed and was built for this
version.

Invariant: nothing here is needed. Each function has a like in Python, which the caller uses where this
has None.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

MODULE = "ipmicra_markup"
FIELDS = (  # what `read` returns, in order
    *("title", "language", "base", "canonical", "first_time", "metas", "dated_scripts"),
    *("links", "unjoined", "headings", "text"),
)


def _module() -> ModuleType | None:
    try:
        module = importlib.import_module(MODULE)
    except ImportError:  # docs/decisions/0004-compiled-reader.md
        return None
    return module if module.FIELDS == FIELDS else None


_found = _module()
read: Callable[[bytes, str], tuple[object, ...]] | None = getattr(_found, "read", None)
is_utf8: Callable[[bytes], bool] | None = getattr(_found, "is_utf8", None)

"""ipmicra: a web crawler and search engine that lives in many places at once.

What other programs use is listed in `__all__` and described in docs/how-to/use-as-a-library.md; the rest is
private and changes without notice. The packages, in the order in which data flows through them, are described
in ARCHITECTURE.md. Invariant: importing this loads nothing else; each name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "CoordinatorClient",
    "Fault",
    "HostFault",
    "OperatorFault",
    "OurFault",
    "Page",
    "SearchAnswer",
    "SiteFault",
    "SubnetTree",
    "__version__",
    "crawl",
    "decide",
    "nearest",
    "read_tree",
    "search_index",
    "strategy",
]

if TYPE_CHECKING:
    from ipmicra.coordinator.client import CoordinatorClient
    from ipmicra.errors import Fault, HostFault, OperatorFault, OurFault, SiteFault
    from ipmicra.hierarchy.tree import SubnetTree
    from ipmicra.library import crawl, decide, nearest, read_tree, search_index, strategy
    from ipmicra.model.page import Page
    from ipmicra.model.search import SearchAnswer

_HOMES = {
    "CoordinatorClient": "coordinator.client",
    **dict.fromkeys(("Fault", "HostFault", "OperatorFault", "OurFault", "SiteFault"), "errors"),
    "Page": "model.page",
    "SearchAnswer": "model.search",
    "SubnetTree": "hierarchy.tree",
    **dict.fromkeys(("crawl", "decide", "nearest", "read_tree", "search_index", "strategy"), "library"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"ipmicra.{_HOMES[name]}"), name)

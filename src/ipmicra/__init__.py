"""ipmicra: a web crawler and search engine that runs in many places at once.

The public names are listed in `__all__` and described in docs/how-to/use-as-a-library.md; the rest is
private and changes without notice. The packages, in the order in which data flows through them, are
described in ARCHITECTURE.md. Invariant: importing this loads nothing else; each name is loaded when it is
first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

__all__ = [
    "CoordinatorAway",
    "CoordinatorClient",
    "Fault",
    "HostFault",
    "InvalidRequest",
    "OperatorFault",
    "OurFault",
    "Page",
    "SearchAnswer",
    "SiteFault",
    "SubnetTree",
    "TokenRefused",
    "__version__",
    "crawl",
    "decide",
    "nearest",
    "read_tree",
    "search_index",
    "strategy",
]

if TYPE_CHECKING:
    from ipmicra.coordinator.client import (
        CoordinatorAway,
        CoordinatorClient,
        InvalidRequest,
        TokenRefused,
    )
    from ipmicra.errors import Fault, HostFault, OperatorFault, OurFault, SiteFault
    from ipmicra.hierarchy.tree import SubnetTree
    from ipmicra.library import crawl, decide, nearest, read_tree, search_index, strategy
    from ipmicra.model.page import Page
    from ipmicra.model.search import SearchAnswer

_HOMES = {
    **dict.fromkeys(
        ("CoordinatorClient", "CoordinatorAway", "InvalidRequest", "TokenRefused"),
        "coordinator.client",
    ),
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

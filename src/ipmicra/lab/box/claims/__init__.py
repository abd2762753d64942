"""One file a claim. The file's name is the claim's: `crawl_time.py` is `ipmicra lab box claim crawl-time`.

A file has TITLE (the question), PAPER (what the papers report on it) and `run(kit) -> Findings`.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from ipmicra.errors import OperatorFault
from ipmicra.lab.box.trial.harness import BoxClaim


def names() -> list[str]:
    """The names of the claims."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def claim(name: str) -> BoxClaim:
    if name not in names():
        raise OperatorFault(f"unknown claim {name!r}; known are: {', '.join(names())}")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return cast("BoxClaim", module)

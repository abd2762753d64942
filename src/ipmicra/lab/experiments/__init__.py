"""One file a question. The file's name is the experiment's: `figure_4.py` is `ipmicra lab run figure-4`.

A file has TITLE (the question), PAPER (what the paper reports on it) and `run(kit) -> Findings`.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from ipmicra.errors import OperatorFault
from ipmicra.lab.harness import Experiment


def names() -> list[str]:
    """The names of the experiments."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def experiment(name: str) -> Experiment:
    if name not in names():
        raise OperatorFault(f"unknown experiment {name!r}; known are: {', '.join(names())}")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return cast("Experiment", module)

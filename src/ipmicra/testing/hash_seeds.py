"""Names of strategies -> whether they decide alike in two processes that iterate over sets differently.

    check_hash_seeds("adaptive", "my_package.strategies:make_mine")

A name is a strategy of the table (`ipmicra.delegation.registry`), or MODULE:FUNCTION, where the function
makes one from a tree and a generator. Invariant: each process begins afresh; only what it prints is compared.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from functools import partial

from ipmicra.delegation.registry import strategy_named
from ipmicra.errors import OperatorFault
from ipmicra.testing.strategy_referee import MakeStrategy, course_of

HASH_SEEDS = ("0", "1")


def check_hash_seeds(*names: str) -> None:
    """Check that no decision depends on the order of a set. Raises AssertionError."""
    one, other = (_courses(names, hash_seed) for hash_seed in HASH_SEEDS)
    assert len(one) == 60 * len(names)
    differing = [lines for lines in zip(one, other, strict=True) if lines[0] != lines[1]]
    assert differing == [], f"decisions depend on the order of a set, the first: {differing[0]}"


def make_of(name: str) -> MakeStrategy:
    """How to make the strategy of this name. Raises OperatorFault."""
    module, colon, function = name.partition(":")
    if not colon:
        return partial(strategy_named, name)
    try:
        made: MakeStrategy = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise OperatorFault(f"{name!r} is not MODULE:FUNCTION: {error}") from error
    return made


def _courses(names: tuple[str, ...], hash_seed: str) -> list[str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.run(  # noqa: S603 - this interpreter, this module
        [sys.executable, "-m", __name__, *names],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write("".join(f"{line}\n" for line in course_of(make_of(argument), seed=7)))

"""Makes a Python load the marked modules, if a run of the suite under coverage has started it.

Python imports a module of this name at its start when `PYTHONPATH` leads to it. It reads the folder named in
`IPMICRA_COVERAGE`; `tools/coverage/preparation.py` says what is in there.
Invariant: a module that has changed since, or is another copy, is loaded as ever, and so is everything when
the folder cannot be read (a sandbox does not see it).
"""

from __future__ import annotations

import builtins
import importlib.util
import marshal
import mmap
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

_Index = dict[str, tuple[str, int, int, int]]


class MarkedModules:
    """Finds modules as Python does, and loads those of the index from the marked code."""

    def __init__(self, index: _Index, code: mmap.mmap) -> None:
        self._index = index
        self._code = code

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._index:
            return None
        spec = PathFinder.find_spec(name, path, target)
        origin, modified_ns, begin, length = self._index[name]
        if spec is None or spec.origin != origin or Path(origin).stat().st_mtime_ns != modified_ns:
            return None
        spec.loader = _MarkedLoader(name, origin, self._code[begin : begin + length])
        return spec


class _MarkedLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, code: bytes) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        code = marshal.loads(self._code)  # noqa: S302 - written by the run
        assert isinstance(code, CodeType)
        return code


def _shared(path: Path, mode: str, access: int) -> mmap.mmap:
    with path.open(mode) as file:
        return mmap.mmap(file.fileno(), 0, access=access)


def _begin(folder: Path) -> None:
    try:
        magic, index = marshal.loads((folder / "index").read_bytes())  # noqa: S302 - written by the run
        code = _shared(folder / "code", "rb", mmap.ACCESS_READ)
        taken = _shared(folder / "taken", "r+b", mmap.ACCESS_WRITE)
    except OSError:
        return
    if magic == importlib.util.MAGIC_NUMBER:
        builtins.__taken__ = taken  # type: ignore[attr-defined]
        sys.meta_path.insert(0, MarkedModules(index, code))  # type: ignore[arg-type]


if "IPMICRA_COVERAGE" in os.environ:
    _begin(Path(os.environ["IPMICRA_COVERAGE"]))

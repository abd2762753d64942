"""The installed program -> the files of a crawler's bundle: what its entry module imports of ipmicra.

Invariant: only Python source of this package, found by reading imports; third-party packages are named, not
packed, since compiled code is the host's own.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import ipmicra
from ipmicra.errors import OurFault

PACKAGE = "ipmicra"


class BundleContents(NamedTuple):
    files: dict[str, bytes]  # path -> source
    packages: set[str]  # of others, needed by an import that is always made


def contents(program: str) -> BundleContents:
    """Everything that running `program` may import from this package."""
    files: dict[str, bytes] = {}
    packages: set[str] = set()
    waiting, seen = [program], set[str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        path = _source(module)
        if path is None:
            continue
        source = path.read_bytes()
        files[_archive_path(path)] = source
        if "." in module:
            waiting.append(module.rpartition(".")[0])
        tree = _as_run(ast.parse(source, str(path)))
        waiting += [name for name in _modules_named(ast.walk(tree)) if name.partition(".")[0] == PACKAGE]
        packages |= {name.partition(".")[0] for name in _modules_named(tree.body)}
    if not files:
        raise OurFault(f"there is no module {program}")
    return BundleContents(files, packages - sys.stdlib_module_names - {PACKAGE})


def _as_run(tree: ast.Module) -> ast.Module:
    """Without what only type checkers read: it is never imported."""
    kept = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return ast.Module(kept, tree.type_ignores)


def _source(module: str) -> Path | None:
    """The file of a module of ours; None for a name inside one."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


def _archive_path(path: Path) -> str:
    home = Path(ipmicra.__file__).parent
    return f"{PACKAGE}/{path.relative_to(home).as_posix()}"


def _modules_named(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """All modules that these statements name, and names that may be modules."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

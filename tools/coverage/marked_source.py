"""A module's source -> its tree with a mark at the beginning of each branch, and the list of branches.

A mark is `__taken__[number] = 1`; `__taken__` is a file that all processes of a run share. Branches are the
ways out of `if`, `for`, `while` and `match`, as coverage.py counts them. Functions and `except` clauses are
marked too and counted apart.
Invariant: marks change neither what the module does nor the lines that a traceback shows.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

BRANCH, FUNCTION, HANDLER = "branch", "function", "handler"
_Decision = TypeVar("_Decision", ast.If, ast.For, ast.AsyncFor, ast.While)
_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)


class Place(NamedTuple):
    """Where a mark stands: the line that decides, and the line it leads to (0: past the statement)."""

    kind: str
    line: int
    to_line: int


def mark(source: str, first_number: int) -> tuple[ast.Module, list[Place]]:
    """The marked tree; the marks are numbered from `first_number` in the order of the list."""
    marker = _Marker(first_number)
    tree = marker.visit(ast.parse(source))
    return ast.fix_missing_locations(tree), marker.places


class _Marker(ast.NodeTransformer):
    def __init__(self, first_number: int) -> None:
        self.places: list[Place] = []
        self._first_number = first_number

    def _mark(self, kind: str, line: int, body: Sequence[ast.stmt]) -> ast.stmt:
        to_line = body[0].lineno if body else 0
        number = self._first_number + len(self.places)
        self.places.append(Place(kind, line, to_line))
        statement = ast.parse(f"__taken__[{number}] = 1").body[0]
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                ast.copy_location(node, body[0] if body else ast.Pass(lineno=line, col_offset=0))
        return statement

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return self._function(node)

    def _function(self, node: _Function) -> _Function:
        begin = 1 if ast.get_docstring(node, clean=False) is not None else 0
        if body := [each for each in node.body[begin:] if not _is_nothing(each)]:
            self.generic_visit(node)
            node.body.insert(begin, self._mark(FUNCTION, node.lineno, body))
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        never_runs = ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'")
        return node if never_runs else self._decision(node)

    def visit_For(self, node: ast.For) -> ast.For:
        return self._decision(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AsyncFor:
        return self._decision(node)

    def visit_While(self, node: ast.While) -> ast.While:
        if isinstance(node.test, ast.Constant):  # `while True` has one way only
            self.generic_visit(node)
            return node
        return self._decision(node)

    def _decision(self, node: _Decision) -> _Decision:
        body: list[ast.stmt] = list(node.body)
        otherwise: list[ast.stmt] = list(node.orelse)
        self.generic_visit(node)
        node.body = [*self._arm(node.lineno, body), *node.body]
        node.orelse = [*self._arm(node.lineno, otherwise), *node.orelse]
        return node

    def _arm(self, line: int, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [] if _is_impossible(body) else [self._mark(BRANCH, line, body)]

    def visit_Match(self, node: ast.Match) -> ast.Match:
        bodies = [list(case.body) for case in node.cases]
        self.generic_visit(node)
        for case, body in zip(node.cases, bodies, strict=True):
            case.body = [*self._arm(node.lineno, body), *case.body]
        if not _takes_everything(node.cases[-1]):
            node.cases.append(ast.match_case(ast.MatchAs(), None, self._arm(node.lineno, [])))
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        body = list(node.body)
        self.generic_visit(node)
        node.body = [self._mark(HANDLER, node.lineno, body), *node.body]
        return node


def _is_nothing(statement: ast.stmt) -> bool:
    """`...`: the body of a declaration, which nobody calls."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is ...
    )


def _is_impossible(body: Sequence[ast.stmt]) -> bool:
    """`assert_never(...)`: the type checker has proved that it does not run."""
    return len(body) == 1 and ast.unparse(body[0]).startswith("assert_never(")


def _takes_everything(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None

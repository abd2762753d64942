"""A function's syntax tree -> whether its name is a past participle, and which effects it has.

The grammar of names: the imperative for what a function does, `on_...` for what it is told, a noun or
`is_`/`has_` for what it returns. A past participle is never an action.
"""

from __future__ import annotations

import ast
import re

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Irregular participles that are not also the imperative ("read", "set", "put", "split").
IRREGULAR = frozenset(
    re.findall(
        r"\w+",
        """
        begun bent bound brought built caught chosen dealt done drawn driven fallen fed felt forgotten fought
        found frozen given gone grown heard held hidden kept known laid learnt led left lent lost made meant
        met paid said seen sent shown sold spent spoken stood struck sunk taken taught thought thrown told
        torn understood woken won written
        """,
    )
)
NOT_PARTICIPLES = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "succeed"})
NAMES_OF_STATES = frozenset({"contextmanager", "asynccontextmanager", "property", "cached_property"})
SQL_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE)\b")
CHANGING_METHODS = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove"}
    | {"setdefault", "update"}
)


def is_participle(name: str) -> bool:
    """Whether the first word of a function's name is one."""
    word = name.strip("_").partition("_")[0]
    regular = re.fullmatch(r"[a-z]{2,}ed", word) is not None and word not in NOT_PARTICIPLES
    return regular or word in IRREGULAR


def effects(function: Function) -> set[str]:
    """Reasons to call it an action.

    None for a context manager, which names the state that holds inside of it, and for a property, which
    names a value even where it stores it for the next call.
    """
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}
    if decorators & NAMES_OF_STATES:
        return set()
    found = {"asynchronous"} if isinstance(function, ast.AsyncFunctionDef) else set()
    if isinstance(function.returns, ast.Constant) and function.returns.value is None:
        found.add("returns nothing")
    if any(_writes_to_self(node) for node in ast.walk(function)):
        found.add("writes to self")
    if any(_writes_sql(node) for node in ast.walk(function)):
        found.add("writes SQL")
    return found


def _writes_to_self(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return _is_of_self(node.value)
        case ast.Call(func=ast.Attribute(value=ast.Attribute() as owner, attr=method)):
            return method in CHANGING_METHODS and _is_of_self(owner)
        case _:
            return False


def _is_of_self(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"


def _writes_sql(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=str() as text):
            return SQL_WRITES.match(text) is not None
        case ast.Call(func=ast.Name(id=name)):
            return name in {"insert", "update", "delete"}
        case _:
            return False

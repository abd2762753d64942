"""Habits are a gate: how tests assert, wait and share, and how the program matches and drives.

Each rule finds places by reading the source. What is excepted stands here with its reason; an exception that
nothing needs any more fails as an offence does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import pytest

from tests.gates.source_copy import REPOSITORY

Rule = Callable[[ast.Module], Iterator[ast.AST]]

POLL_SECONDS_MAX = 0.3  # between two looks at something that will happen

EITHER_IS_RIGHT = {
    "tests/carrier/test_page_delta.py::test_whatever_changes_the_page_comes_out_as_it_was": (
        "there is no delta where it would be larger than the page"
    ),
    "tests/coordinator/chaos.py::limit_files": "the process may have ended meanwhile",
    "tests/fuzz/targets.py::answered": "made-up bytes are an answer or a failure",
    "tests/delegation/test_documents.py::"
    "test_every_strategy_its_main_parameter_and_its_words_are_documented": (
        "a strategy without a main parameter"
    ),
    "tests/gates/test_regular_expressions.py::test_no_run_of_strangers_can_be_divided_in_many_ways": (
        "a proof in words, or one by the check"
    ),
    "tests/hierarchy/test_difference.py::test_nothing_attached_is_silently_lost": (
        "two ways to be taken over"
    ),
    "tests/host/code/test_slots.py::test_a_long_life_of_random_events_always_has_code_to_run": (
        "a version on trial is not yet the good one"
    ),
    "tests/lab/loopback/test_loopback.py::test_the_name_server_bears_anything": (
        "what is not a question has no reply"
    ),
    "tests/model/test_urls.py::test_normalising_twice_changes_nothing": "not every text is a URL",
    "tests/registry/test_fuzz.py::check_that_everything_is_accounted_for": "an empty file has no record",
    "tests/search/test_query_table.py::test_no_text_is_dropped_in_silence": "a meaning or a remark",
}
ENDED_OR_INTERRUPTED = {
    "tests/crawler/multiprocess/test_multiprocess.py::end": "some are interrupted, 130; callers check which",
}
TIME_IS_THE_SUBJECT = {
    "tests/cli/test_doctor.py::test_a_check_that_raises_or_hangs_keeps_no_other_from_running": (
        "a check that hangs"
    ),
    "tests/cli/test_unhappy_input.py::never": "a name service that does not answer",
    "tests/coordinator/chaos.py::_turn_hosts_clock": "a clock is wrong for a while",
    "tests/coordinator/chaos.py::_turn_coordinators_clock": "a clock is wrong for a while",
    "tests/coordinator/test_chaos.py::live_through_a_bad_day": "afterwards nothing may be asked",
    "tests/host/sandbox/adversary/adversary.py::main": "an attacker that waits to be stopped",
    "tests/host/sandbox/adversary/adversary.py::upload": "an attacker that tries again",
    "tests/host/sandbox/test_adversary.py::story": "a share of CPU is measured over time",
    "tests/host/sandbox/test_endings.py::story": "nothing may be asked within it",
    "tests/host/test_daemon.py::story": "nothing may be asked within it",
    "tests/host/test_limits.py::story": "a rate is measured over time",
    "tests/net/test_http_server.py::test_a_client_that_does_not_read_its_answer_is_ended": (
        "a client that waits for longer than it may"
    ),
    "tests/overlay/test_host_rules.py::paused_then_worked": "nothing may be asked within it",
    "tests/overlay/test_live.py::test_a_killed_process_of_peers_is_taken_over": "a gossip interval",
}
OPEN_MATCHES = {
    "src/ipmicra/carrier/export.py::_cell": "all other values are written as they are",
    "src/ipmicra/net/listener.py::_advice": "the kernel has more errors than we advise on",
    "src/ipmicra/overlay/can/peer.py::on_undelivered": "all other messages are repeated anyway",
    "src/ipmicra/overlay/live/rpc_server.py::on_message": "most messages answer no open request",
}
OWN_DRIVERS = {
    "src/ipmicra/crawler/step_runner.py::run": "no answers: it gives the loop its turn between steps",
    "src/ipmicra/crawler/decisions/sitemaps.py::listing": "no answers: all steps at once, for a thread",
    "tests/hostile/worst_inputs.py::longest_step_seconds": "each step is timed by itself",
    "src/ipmicra/coordinator/leader/probe_dispatcher.py::_step": (
        "one step per answer; the answers come in later requests"
    ),
}
DRIVER = "src/ipmicra/delegation/driver.py"
FROZEN = "tests/compatibility/data-0.1/"  # what an earlier version wrote
NOT_PRIVATE = {"_replace", "_fields", "_asdict", "_exit", "_compiler"}  # of named tuples, os and re


def accepts_two_outcomes(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        test = node.test if isinstance(node, ast.Assert) else None
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            yield node


def accepts_several_codes(tree: ast.Module) -> Iterator[ast.AST]:
    """`status in (200, 400)`: a success and a failure alike."""
    for node in ast.walk(tree):
        test = node.test if isinstance(node, ast.Assert) else None
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In):
            codes = test.comparators[0]
            if re.search(r"(status|code)$", ast.unparse(test.left)) and isinstance(codes, ast.Tuple):
                yield node


def raises_anything(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        called = ast.unparse(node) if isinstance(node, ast.Call) else ""
        if re.match(r"pytest\.raises\((Base)?Exception\b", called):
            yield node


def sleeps_long(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "asyncio.sleep"):
            seconds = node.args[0]
            if isinstance(seconds, ast.Constant) and float(str(seconds.value)) > POLL_SECONDS_MAX:
                yield node


def reaches_private_members(tree: ast.Module) -> Iterator[ast.AST]:
    own = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_self(node)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
            yield node
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("ipmicra", "tests")):
            yield from (alias for alias in node.names if _is_private(alias.name))


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in NOT_PRIVATE


def imports_a_test_module(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and re.search(r"(^|\.)test_\w+$", node.module or ""):
            yield node


def drives_a_generator(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        caught = node.type if isinstance(node, ast.ExceptHandler) else None
        if caught is not None and "StopIteration" in ast.unparse(caught):
            yield node


def matches_without_end(tree: ast.Module) -> Iterator[ast.AST]:
    """Cases after which a value of a new kind would pass in silence."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            last = ast.unparse(node.cases[-1].body[0])
            if not last.startswith(("assert_never(", "raise ")):
                yield node


def offences(rule: Rule, folder: str) -> set[str]:
    """The functions in which the rule finds something."""
    found = set()
    for path in sorted((REPOSITORY / folder).rglob("*.py")):
        name = str(path.relative_to(REPOSITORY))
        if not name.startswith(FROZEN):
            found |= {f"{name}::{where}" for where in places(rule, path.read_text(encoding="utf-8"))}
    return found


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def places(rule: Rule, source: str) -> set[str]:
    tree = parsed(source)
    return {_function_around(node, tree) for node in rule(tree)}


def _function_around(node: ast.AST, tree: ast.Module) -> str:
    inner = "the module"
    for each in ast.walk(tree):  # outer ones come first
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and node in ast.walk(each):
            inner = each.name
    return inner


RULES: dict[Rule, tuple[str, Mapping[str, str]]] = {
    accepts_two_outcomes: ("tests", EITHER_IS_RIGHT),
    accepts_several_codes: ("tests", ENDED_OR_INTERRUPTED),
    raises_anything: ("tests", {}),
    sleeps_long: ("tests", TIME_IS_THE_SUBJECT),
    reaches_private_members: ("tests", {}),
    imports_a_test_module: ("tests", {}),
    matches_without_end: ("src", OPEN_MATCHES),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_habit_is_kept_and_no_exception_is_stale(rule: Rule) -> None:
    folder, excepted = RULES[rule]
    assert offences(rule, folder) == set(excepted)


def test_one_module_drives_generators() -> None:
    found = offences(drives_a_generator, "src") | offences(drives_a_generator, "tests")
    assert {place for place in found if not place.startswith(DRIVER)} == set(OWN_DRIVERS)


@pytest.mark.parametrize(
    ("rule", "offence", "allowed"),
    [
        (accepts_two_outcomes, "assert a == 1 or b == 2", "assert a in (1, 2)"),
        (accepts_several_codes, "assert answer.status in (200, 400)", "assert answer.status == 400"),
        (raises_anything, "pytest.raises(Exception, match='a')", "pytest.raises(OperatorFault)"),
        (sleeps_long, "time.sleep(1)", "time.sleep(0.05)"),
        (sleeps_long, "asyncio.sleep(0.5)", "asyncio.sleep(0)"),
        (reaches_private_members, "worker._judged", "worker.judged._replace(a=1)"),
        (reaches_private_members, "from ipmicra.a import _b", "from ipmicra.a import b"),
        (imports_a_test_module, "from tests.a.test_b import c", "from tests.a.harness import c"),
        (drives_a_generator, "try: a()\nexcept StopIteration: pass", "try: a()\nexcept KeyError: pass"),
        (matches_without_end, "match a:\n case 1: b", "match a:\n case 1: b\n case _: assert_never(a)"),
    ],
)
def test_an_offence_is_noticed(rule: Rule, offence: str, allowed: str) -> None:
    assert places(rule, offence) == {"the module"}
    assert places(rule, allowed) == set()


def test_the_function_of_an_offence_is_named() -> None:
    assert places(sleeps_long, "def a():\n  def b():\n    time.sleep(1)") == {"b"}
    assert (REPOSITORY / DRIVER).exists()

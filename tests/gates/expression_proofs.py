"""The regular expressions of the program, found by reading its source, with a proof for each that needs one.

Without a repeat of more than `SHORT` an expression needs no proof. All others stand in `PROOFS` with the
reason why they are linear, or in `OWN_INPUT` with who wrote what they read.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path
from re import _parser
from typing import Any

parser: Any = _parser
SOURCE = Path(__file__).parents[2] / "src" / "ipmicra"
SHORT = 500  # repeats; what a bounded repeat costs is bounded by its caller's cap
DYNAMIC = "made while running"

_RUNS = "one run of one class, which nothing follows: every character is looked at once"
PROOFS: dict[str | bytes, str] = {
    r"[A-Za-z_-]+|\*": _RUNS,
    r"\*+": _RUNS,
    r"[,;\s]+": _RUNS,
    r"[\w\s]*": _RUNS,
    r"[^\W_]+": _RUNS,
    r"[^\s!-/:-@\[-`{-~]+": _RUNS,
    "[\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f\ua9e0-\ua9ff]+": _RUNS,
    r"https?://\S{1,2048}": _RUNS,
    rb"""\bhref\s{0,20}=\s{0,20}(?:"([^"]*)"|'([^']*)'|([^\s>]+))""": "the tag has 1,024 bytes at most",
    r"charset\s{0,20}=\s{0,20}[\"']?([\w.:+-]+)": "the run is the end of the expression",
    rb"<meta[^>]{0,400}?charset\s{0,20}=\s{0,20}[\"']?\s{0,20}([\w.:+-]{1,40})": "4,096 bytes at most",
    rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:+-]{1,40})": "4,096 bytes at most, anchored",
    r'"datePublished"\s*:\s*"([^"]{4,40})"': "a run of blanks has no quote, so no match begins inside it",
    r'"dateModified"\s*:\s*"([^"]{4,40})"': "a run of blanks has no quote, so no match begins inside it",
    rb"<(script|style|title|textarea|iframe|a|div|span|p|i|b|em|td|th|li)(\s[^<>]*)?/>": (
        "the run has no <, so no match begins inside it; it is walked there and back once"
    ),
    r"\s*([A-Za-z]{2,3})(?:[-_]|\s|,|$)": "anchored by match(), and a letter ends the run",
    r"(https?://[^/?#@\\\s]+)((?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?)": (
        "each segment begins with a slash, which no run has: one way only to divide a path"
    ),
    r"(?P<minus>-)?(?P<paren>[()])"
    r'|(?P<sign>[-+])?(?:(?P<field>[A-Za-z]+):)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s()"]+))'
    r'|(?P<bare>[A-Za-z]+:)(?=[()])|"': ("a question has 1,000 characters at most"),
    r"(?P<hours>.*) \((?P<zone>[^()]+)\)": "hours of a host have 200 characters at most",
    r"bytes (\d+)-\d+/(\d+|\*)": "a hyphen and a slash, which no run has, stand between the runs",
}
OWN_INPUT: dict[str | bytes, str] = {
    "pattern or ''": "the operator's scope",
    "pattern": "signs of registry files, read from their first bytes by the operator's command",
    "'|'.join(_BLANKS)": "our own page",
    r"[\w.-]+\.[\w-]+(:\d+)?([/?].*)?": "the operator's seeds",
    r"(?!.*\.\d+of\d+$)\w[\w.+-]{0,99}": "the name that the operator gives to a crawl",
    "[^A-Za-z0-9.]+": "the same",
    r"(?P<days>[a-z,\- ]*?)\s*(?P<from>\d{1,2}:\d{2})\s*-\s*(?P<to>\d{1,2}:\d{2})": (
        "the owner's hours; on the coordinator 200 characters at most"
    ),
    r"(?<=\d)\s*[,;]\s*": "the owner's hours",
    r"[,\s]+": "the owner's hours",
    r"^\s*(\d+)\s*[,\s]\s*(\d+)\s+(-?[\d.eE+-]+)\s*$": "the researcher's latency files, a line at a time",
    rb"<(/?)(net|org|poc|asn|customer)(?:\s[^<>]*)?>": "registry files, in the operator's command",
    rb"<(netBlocks|iso3166-[12])>.*?</\1>": "registry files, in the operator's command",
    rb"<[?!/]?[A-Za-z][^<>]*>|<!--.*?-->|^\xef\xbb\xbf": "registry files, in the operator's command",
    rb"<(startAddress|endAddress|orgHandle|handle|name|code2|type)>([^<>]*)</\1>": "registry files, the same",
    rb"(?m)^[%#][^\n]*\n?": "registry files, in the operator's command",
    rb"\n[ \t+][ \t]*": "registry files, in the operator's command",
    "b'\\\\n(' + wanted + b'):[ \\\\t]*([^\\\\n]*(?:\\\\n[ \\\\t+][^\\\\n]*)*)'": "registry files, the same",
    r"(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z][a-z0-9-]{0,62}\.?": (
        "names that the operator types, of 253 characters at most"
    ),
}
REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def expressions() -> Iterator[tuple[Path, str | bytes]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if _calls_re(node) and isinstance(node, ast.Call) and node.args:
                try:
                    yield path, ast.literal_eval(node.args[0])
                except ValueError:
                    yield path, ast.unparse(node.args[0])


def _calls_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr != "escape"
    )


def has_long_repeat(pattern: str | bytes) -> bool:
    return any(int(most) > SHORT for _, most, _ in repeats(parser.parse(pattern)))


def repeats(parsed: object) -> Iterator[tuple[int, int, object]]:
    """Every repeat in an expression: least, most, what."""
    if isinstance(parsed, parser.SubPattern | list):
        for operation in parsed:
            yield from repeats(operation)
    elif isinstance(parsed, tuple):
        if str(parsed[0]) in REPEATS:
            yield parsed[1]
        for part in parsed:
            yield from repeats(part)


def ambiguous(pattern: str | bytes) -> bool:
    """Whether two long repeats can divide one run between them in many ways."""
    return _is_ambiguous(list(parser.parse(pattern)))


def _is_ambiguous(sequence: list[tuple[object, object]]) -> bool:
    open_runs: list[frozenset[str]] = []  # long repeats with nothing required behind them yet
    for name, argument in _flat(sequence):
        if str(name) not in REPEATS:
            open_runs = [run for run in open_runs if run & _letters(name, argument)]
            continue
        repeat: Any = argument
        least, most, body = repeat
        letters = letters_of(list(body))
        if int(most) > SHORT:
            if any(run & letters for run in open_runs) or any(
                int(inner) > SHORT for _, inner, _ in repeats(body)
            ):
                return True
            open_runs.append(letters)
        elif int(least):
            open_runs = [run for run in open_runs if run & letters]
    return False


def _flat(sequence: list[tuple[object, object]]) -> Iterator[tuple[object, object]]:
    for name, argument in sequence:
        if str(name) == "SUBPATTERN":
            yield from _flat(list(argument[3]))  # type: ignore[index]
        else:
            yield name, argument


def letters_of(sequence: list[tuple[object, object]]) -> frozenset[str]:
    return frozenset().union(*(_letters(name, argument) for name, argument in _flat(sequence)))


def _letters(name: object, argument: object) -> frozenset[str]:
    """Which characters one step of an expression can take, by asking the engine itself."""
    match str(name):
        case "LITERAL":
            return frozenset(chr(int(argument)).lower())  # type: ignore[call-overload]
        case "IN" | "ANY" | "NOT_LITERAL":
            return frozenset(letter for letter in string.printable if _takes(name, argument, letter))
        case "BRANCH":
            return frozenset().union(*(letters_of(list(way)) for way in argument[1]))  # type: ignore[index]
        case kind if kind in REPEATS:
            return letters_of(list(argument[2]))  # type: ignore[index]
        case _:
            return frozenset(string.printable) if str(name) == "GROUPREF" else frozenset()


def _takes(name: object, argument: object, letter: str) -> bool:
    step = parser.parse("x")
    step.data = [(name, argument)]
    return re._compiler.compile(step).fullmatch(letter) is not None  # type: ignore[attr-defined]

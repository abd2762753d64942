"""The query string of a URL -> a search request; and its description for OpenAPI.

Invariant: one table for parsing and description, so the two cannot differ. Parsed here and not by the
framework, whose parsing costs more than most answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from litestar.exceptions import ValidationException
from litestar.openapi.spec import OpenAPIType, Operation, Parameter, Schema

from ipmicra.model.search import PER_SITE, SearchRequest
from ipmicra.search.query.query_parser import PARTS_MAX, TEXT_CHARACTERS_MAX

_SHOWN_CHARACTERS = 20  # of what was refused
_YES_OR_NO = {"true": True, "false": False}


class BadParameter(msgspec.Struct, frozen=True, kw_only=True):
    """The error for a program that sent a wrong parameter."""

    status_code: int
    detail: str


class _Number(NamedTuple):
    least: int
    most: int
    default: int
    description: str

    def schema(self) -> Schema:
        return Schema(
            type=OpenAPIType.INTEGER, minimum=self.least, maximum=self.most, default=self.default
        )

    def read(self, name: str, text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) < 9 and self.least <= int(text) <= self.most:
            return int(text)
        raise _refused(name, text, f"write a whole number from {self.least} to {self.most}")


_TEXT = (
    "The question, as docs/reference/search-syntax.md describes it. Every text is one; of a longer one the "
    f"first {TEXT_CHARACTERS_MAX:,} characters and {PARTS_MAX} parts are used, and the answer is `partial`."
)
_EVERY = (
    "All pages of a site that match; otherwise, where several sites answer, its best three, and in "
    "`more_from_site` how many more."
)
_NUMBERS = {
    "limit": _Number(1, 100, 10, "How many results are wanted."),
    "offset": _Number(0, 1_000, 0, "How many of the best results to leave out: those already seen."),
}
NAMES = frozenset({"q", "every", *_NUMBERS})


def asked(given: Mapping[str, str]) -> SearchRequest:
    """The request that the parameters make; what is not given has its default."""
    limit, offset = (
        number.read(name, given[name]) if name in given else number.default
        for name, number in _NUMBERS.items()
    )
    every = given.get("every", "false")
    if every not in _YES_OR_NO:
        raise _refused("every", every, "write true or false")
    return SearchRequest(
        text=given.get("q", ""),
        limit=limit,
        offset=offset,
        per_site=0 if _YES_OR_NO[every] else PER_SITE,
    )


def refuse_others(given: Iterable[str]) -> None:
    """Refuse unknown and repeated names: they are mistakes of the calling program."""
    names = list(given)
    for name in names:
        if name not in NAMES:
            raise _refused(name, "", f"unknown parameter; known are {', '.join(sorted(NAMES))}")
    if len(names) != len(set(names)):
        raise ValidationException("write each parameter once")


def _refused(name: str, value: str, what_to_do: str) -> ValidationException:
    return ValidationException(f"{name[:_SHOWN_CHARACTERS]}={value[:_SHOWN_CHARACTERS]}: {what_to_do}")


@dataclass
class SearchOperation(Operation):
    """The description of a search, with its parameters."""

    def __post_init__(self) -> None:
        text = Schema(type=OpenAPIType.STRING, default="")
        every = Schema(type=OpenAPIType.BOOLEAN, default=False)
        self.parameters = [
            _described("q", text, _TEXT),
            *(_described(name, one.schema(), one.description) for name, one in _NUMBERS.items()),
            _described("every", every, _EVERY),
        ]


def _described(name: str, schema: Schema, description: str) -> Parameter:
    return Parameter(name=name, param_in="query", schema=schema, description=description, required=False)

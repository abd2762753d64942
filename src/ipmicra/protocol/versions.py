"""Two versions -> which is newer. A version is numbers with dots between, as in 1.10.0."""

from __future__ import annotations

import re

from ipmicra.errors import OperatorFault

_FORM = re.compile(r"\d{1,9}(\.\d{1,9}){0,3}")


def checked_version(text: str) -> str:
    """The same text. Raises OperatorFault if it is not a version."""
    if not _FORM.fullmatch(text):
        raise OperatorFault(
            f"{text!r} is not a version; write numbers with dots between, such as 1.10.0"
        )
    return text


def is_newer(one: str, other: str) -> bool:
    return _numbers(one) > _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in checked_version(version).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)

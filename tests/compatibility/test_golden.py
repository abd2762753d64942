"""What others see of the program is what the golden files say: wire, SQL, settings, commands, API, metrics.

A test that fails here shows each place that differs. Where the change is wanted:

    python -m tests.compatibility.regenerate NAME
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ipmicra.settings import load_settings
from tests.compatibility.observed import OBSERVED, golden, settings, written


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """Each place that differs, on a line."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            if key not in now:
                yield f"- {place}/{key}: {shortened(before[key])}"
            elif key not in before:
                yield f"+ {place}/{key}: {shortened(now[key])}"
            else:
                yield from differences(before[key], now[key], f"{place}/{key}")
    elif are_fields(before) and are_fields(now):
        yield from differences(
            {one["name"]: one for one in before}, {one["name"]: one for one in now}, place
        )
        yield from moved([one["name"] for one in before], [one["name"] for one in now], place)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{place}/{number}")
    elif before != now:
        yield f"~ {place}: {shortened(before)} -> {shortened(now)}"


def are_fields(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and "name" in one for one in value)


def moved(before: list[str], now: list[str], place: str) -> Iterator[str]:
    """Fields that both have, where their order is another: it counts in arrays."""
    old, new = [name for name in before if name in now], [name for name in now if name in before]
    if old != new:
        yield f"~ {place}: order {old} -> {new}"


def shortened(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) < 300 else text[:300] + "..."


@pytest.mark.parametrize("name", OBSERVED)
def test_it_is_what_the_golden_file_says(name: str) -> None:
    found = list(differences(golden(name), json.loads(written(OBSERVED[name]()))))
    assert not found, (
        f"golden/{name}.json differs (- gone, + new, ~ changed):\n" + "\n".join(found) + "\n"
        f"If this is wanted: python -m tests.compatibility.regenerate {name}"
    )


def test_every_setting_is_read_from_its_variable() -> None:
    for name, told in settings().items():
        if "." in name and told["default"] is not None:
            value = json.dumps(told["default"])
            sources = {
                knob.name: knob.source for knob in load_settings(None, {told["variable"]: value})[1]
            }
            assert sources[name] == told["variable"], name


def test_a_difference_names_its_place() -> None:
    before = {"a": {"b": [{"name": "x", "type": "int"}]}, "gone": 1}
    now = {"a": {"b": [{"name": "x", "type": "str"}]}, "new": 2}
    assert list(differences(before, now)) == ['~ /a/b/x/type: "int" -> "str"', "- /gone: 1", "+ /new: 2"]
    fields = [{"name": "x"}, {"name": "y"}]
    assert list(differences(fields, fields[::-1])) == ["~ : order ['x', 'y'] -> ['y', 'x']"]

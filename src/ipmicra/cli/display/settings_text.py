"""Settings that differ from their defaults -> the text of a settings file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import msgspec
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from ipmicra.settings import SettingInfo


def settings_text(rows: Iterable[SettingInfo]) -> str:
    """TOML. A database's password is left out."""
    changed = [row for row in rows if row.source != "default" and row.value != row.default]
    lines = []
    for table, members in groupby(changed, lambda row: row.name.partition(".")[0]):
        lines.append(f"[{table}]")
        lines += [f"{row.name.partition('.')[2]} = {_value(row)}" for row in members]
    return "\n".join(lines) + "\n"


def _value(row: SettingInfo) -> str:
    value = row.value
    if row.name == "coordinator.database" and value:
        try:
            value = make_url(str(value)).render_as_string(hide_password=True)
        except ArgumentError:
            value = ""
    return _toml(msgspec.to_builtins(value))


def _toml(value: object) -> str:
    """Numbers, texts and truth values are written as JSON writes them."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(inner)}' for key, inner in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(inner) for inner in value)}]"
    return msgspec.json.encode(value).decode()

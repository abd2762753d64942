"""A description and bounds -> the metadata of a setting, for `ipmicra settings`, the docs and validation.

Separate from `ipmicra.settings`, so that a package's settings file imports this module and `Settings`
imports that file: no import cycle.
"""

from __future__ import annotations

import msgspec


def setting_field(
    text: str, *, at_least: float | None = None, above: float | None = None
) -> msgspec.Meta:
    """The one-line description of a field, and a number's bounds: `Annotated[int, described("...")]`."""
    if above is not None:
        return msgspec.Meta(description=text, gt=above)
    return msgspec.Meta(description=text, ge=at_least)


def described_text(text: str, pattern: str) -> msgspec.Meta:
    """The one-line description of a text, and the expression that all of it must match."""
    return msgspec.Meta(description=text, pattern=f"^(?:{pattern})$")

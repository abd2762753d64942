"""A text -> the description that a setting carries into `ipmicra settings` and the docs.

Apart from `ipmicra.settings`, so that a room's own settings file imports this and `Settings` imports the
room's: no circle.
"""

from __future__ import annotations

import msgspec


def described(text: str) -> msgspec.Meta:
    """The one-line description of a field: `Annotated[int, described("...")]`."""
    return msgspec.Meta(description=text)

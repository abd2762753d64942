"""Text as it was written -> text without superfluous white space."""

from __future__ import annotations


def lines_of(text: str) -> str:
    """The lines of a text without indentation, trailing blanks and empty lines."""
    return "\n".join(filter(None, map(str.strip, text.split("\n"))))


def folded(text: str, characters_max: int) -> str:
    """One line, one space between words."""
    return " ".join(text.split())[:characters_max]

"""The reference page of a crawler's life says what the table in the program says."""

from __future__ import annotations

from pathlib import Path

from ipmicra.coordinator.admin.crawler_states import OperatorCommand, as_markdown

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "crawler-life.md"


def test_the_page_is_drawn_from_the_table() -> None:
    assert as_markdown() in DOCUMENT.read_text(encoding="utf-8"), (
        "draw it again: crawler_life.as_markdown()"
    )


def test_every_wish_of_the_operators_is_a_command_that_the_page_names() -> None:
    told = DOCUMENT.read_text(encoding="utf-8")
    assert all(f"`ipmicra coordinator {wish}`" in told for wish in OperatorCommand)

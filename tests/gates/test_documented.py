"""Documentation is a gate: each command, setting, metric and kind of event is on its reference page.

What exists is read where the program has it: files of commands, fields of settings, names of metrics in the
source, members of `EventKind`. The pages are read as they are shown, after `tools/reference_pages.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

import msgspec
import pytest

from ipmicra.coordinator.store.events import EventKind
from ipmicra.host.settings import HostSettings
from ipmicra.settings import Settings
from tests.gates.source_copy import REPOSITORY
from tools.reference_pages import GENERATED, on_page_markdown

SOURCE = REPOSITORY / "src/ipmicra"
COMMANDS = SOURCE / "cli/commands"
REFERENCE = REPOSITORY / "docs/reference"


def commands() -> Iterator[str]:
    """A file that holds a command is one, and so is a folder with such files."""
    for path in sorted(COMMANDS.rglob("*.py")):
        parts = path.relative_to(COMMANDS).with_suffix("").parts
        words = [part.replace("_", "-").strip("-") for part in parts if part != "__init__"]
        if path.stem != "__init__" and re.search(
            r"^(?:async )?def command\(|^command = ", path.read_text(), re.MULTILINE
        ):
            for end in range(1, len(words) + 1):
                yield " ".join(["ipmicra", *words[:end]])


def settings() -> Iterator[str]:
    for table in msgspec.structs.fields(Settings):
        yield from (f"{table.name}.{field.name}" for field in msgspec.structs.fields(table.type))


def host_settings() -> Iterator[str]:
    yield from (f"host.{field.name}" for field in msgspec.structs.fields(HostSettings))


def metrics() -> Iterator[str]:
    """Every text in the coordinator's source that can only be the name of a metric."""
    for path in (SOURCE / "coordinator/metrics.py", SOURCE / "coordinator/api/metrics.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and re.fullmatch(r"ipmicra_\w+", text):
                yield text


def events() -> Iterator[str]:
    yield from EventKind


def shown(page: str) -> str:
    return on_page_markdown((REFERENCE / page).read_text(encoding="utf-8"))


def missing(existing: AbstractSet[str], text: str) -> set[str]:
    """Names that no row and no heading begins with; counters and information are shown with a suffix."""
    documented = set(re.findall(r"^(?:\| |#+ )`([^`]+)`", text, re.MULTILINE))
    documented |= {name.removesuffix(end) for name in documented for end in ("_total", "_info")}
    return set(existing) - documented


PAGES: dict[str, tuple[Callable[[], Iterator[str]], int]] = {
    "commands.md": (commands, 60),
    "settings.md": (settings, 60),
    "host-settings.md": (host_settings, 10),
    "metrics.md": (metrics, 30),
    "events.md": (events, 30),
}


@pytest.mark.parametrize("page", PAGES)
def test_everything_that_exists_is_in_the_reference(page: str) -> None:
    names, at_least = PAGES[page]
    existing = set(names())
    assert len(existing) >= at_least, "the list of what exists is not complete"
    assert missing(existing, shown(page)) == set()


@pytest.mark.parametrize("page", PAGES)
def test_an_entry_that_is_taken_off_a_page_is_noticed(page: str) -> None:
    names, _ = PAGES[page]
    gone = min(names())
    lines = re.compile(rf"^(?:\| |#+ )`{re.escape(gone)}(?:_total|_info)?`.*$", re.MULTILINE)
    assert missing(set(names()), lines.sub("", shown(page))) == {gone}


def test_the_pages_are_linked_and_no_generated_table_is_left_out() -> None:
    index = (REPOSITORY / "docs/index.md").read_text(encoding="utf-8")
    for name in GENERATED:
        assert f"<!-- {name} -->" in (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
        assert f"(reference/{name}.md)" in index


def test_a_kind_of_event_is_recorded_by_its_member_only() -> None:
    """A text in place of a member would pass by the reference; mypy refuses it too."""
    recorded = [
        ast.unparse(node.args[1])
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "events.record"
    ]
    assert len(recorded) > 25
    assert [kind for kind in recorded if "EventKind" not in kind] == []

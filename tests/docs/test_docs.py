"""The documentation is under test: what it links to, names and runs must exist.

Read are README.md, ARCHITECTURE.md, CONTRIBUTING.md, CHANGELOG.md and everything under docs/.
"""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ipmicra.cli.main import program
from ipmicra.settings import load_settings

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [
        *(
            REPOSITORY / name
            for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
        ),
        *(REPOSITORY / "docs").rglob("*.md"),
    ]
)
FENCE = re.compile(r"^(?:```|~~~)(\w*)[^\n]*\n(.*?)^(?:```|~~~)\s*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
SOURCE_FILE = re.compile(r"[\w/]+\.py")
SOURCE_FILES = [
    path
    for folder in ("src", "tests", "examples", "tools")
    for path in (REPOSITORY / folder).rglob("*.py")
]
PLACE = re.compile(r"(?:src|tests|docs|benchmarks|deploy|tools)/[\w./-]*[\w/]")
SHELL_LANGUAGES = {"sh", "bash", "console", "shell"}


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(REPOSITORY)) for path in paths]


def prose(document: Path) -> str:
    return FENCE.sub("", document.read_text(encoding="utf-8"))


def shell_lines(document: Path) -> Iterator[str]:
    """Every command line that the document tells its reader to type, continuation lines joined."""
    for language, block in FENCE.findall(document.read_text(encoding="utf-8")):
        if language in SHELL_LANGUAGES:
            for line in block.replace("\\\n", " ").splitlines():
                yield line.strip().removeprefix("$ ")
    yield from (code for code in CODE.findall(prose(document)) if code.startswith("ipmicra "))


@pytest.fixture(params=DOCUMENTS, ids=names(DOCUMENTS))
def document(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_links_inside_the_project_lead_somewhere(document: Path) -> None:
    for link in LINK.findall(prose(document)):
        target = link.partition("#")[0]
        if target and "://" not in target and not target.startswith("mailto:"):
            assert (document.parent / target).exists(), f"{link} leads nowhere"


def test_named_places_exist(document: Path) -> None:
    for code in CODE.findall(prose(document)):
        if PLACE.fullmatch(code):
            assert (REPOSITORY / code).exists(), f"there is no {code}"


def is_a_source_file(name: str) -> bool:
    """Whether a source file ends with this path: `price.py`, `training/examples.py`."""
    return any(path.as_posix().endswith(f"/{name}") for path in SOURCE_FILES)


def test_named_files_of_the_source_exist(document: Path) -> None:
    """A page may name a file by the end of its path."""
    for code in CODE.findall(prose(document)):
        if SOURCE_FILE.fullmatch(code) and not PLACE.fullmatch(code):
            assert is_a_source_file(code), f"there is no {code}"


def test_a_file_that_does_not_exist_is_noticed() -> None:
    assert is_a_source_file("adaptive/price.py")
    assert not is_a_source_file("worth.py")
    assert not is_a_source_file("rice.py"), "a part of a name is not a name"


def test_named_modules_exist(document: Path) -> None:
    for code in CODE.findall(prose(document)):
        if re.fullmatch(r"ipmicra(\.[a-zA-Z_]\w*)+", code) and code != "ipmicra.toml":
            assert exists(code), f"there is no {code}"


def exists(name: str) -> bool:
    """A module, or something in a module, has this dotted name."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert exists("ipmicra.hierarchy.tree.SubnetTree")
    assert not exists("ipmicra.hierarchy.tree.NoSuchTree")
    assert not exists("ipmicra.no_such_package.thing")


def test_the_life_of_a_url_is_told_in_names_of_the_code() -> None:
    text = (REPOSITORY / "docs/explanation/life-of-a-url.md").read_text()
    stages = re.findall(r"^\d+\. .*$", text, re.MULTILINE)
    assert len(stages) >= 30
    assert [stage for stage in stages if "`ipmicra." not in stage] == []


def test_commands_and_their_options_exist(document: Path) -> None:
    for line in shell_lines(document):
        for command_line in re.split(r"\s(?:&&|\|\|?|;|>|2>|<|&)(?:\s|$)", line):
            words = _words(command_line)
            if "ipmicra" in words[:1]:
                _check_command(words[1:])


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    while words and (re.fullmatch(r"[A-Z_]+=.*", words[0]) or words[0] in ("sudo", "nice", "time")):
        words = words[1:]
    if words and words[0] == ".venv/bin/ipmicra":
        words[0] = "ipmicra"
    return words


def _check_command(words: list[str]) -> None:
    command: click.Command = program
    context = click.Context(command)
    path = ["ipmicra"]
    for word in words:
        if word == "--":  # what follows is another program's
            return
        if word.startswith("--"):
            known = {
                option
                for parameter in command.params
                for option in parameter.opts + parameter.secondary_opts
            }
            option = word.partition("=")[0]
            assert option in known | {"--help"}, f"{' '.join(path)} has no option {option}"
        elif isinstance(command, click.Group) and re.fullmatch(r"[a-z-]+", word):
            found = command.get_command(context, word)
            assert found is not None, f"there is no command {' '.join([*path, word])}"
            command = found
            path.append(word)


def test_make_targets_exist(document: Path) -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?m)^([a-z-]+):", makefile))
    mentioned = [line for line in shell_lines(document) if line.startswith("make ")]
    mentioned += [code for code in CODE.findall(prose(document)) if code.startswith("make ")]
    for line in mentioned:
        wanted = [word for word in line.split("#")[0].split()[1:] if re.fullmatch(r"[a-z-]+", word)]
        assert set(wanted) <= targets, f"no such target: {line}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built; a broken link or anchor fails the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_the_site_has_a_front_page(site: Path) -> None:
    assert "ipmicra" in (site / "index.html").read_text(encoding="utf-8")


def test_every_setting_is_in_the_reference(site: Path) -> None:
    reference = (site / "reference/settings/index.html").read_text(encoding="utf-8")
    for knob in load_settings(None, {})[1]:
        assert f"<code>{knob.name}</code>" in reference


def test_every_command_is_in_the_reference(site: Path) -> None:
    reference = (site / "reference/commands/index.html").read_text(encoding="utf-8")
    context = click.Context(program)
    for name in program.list_commands(context):
        assert f"<code>ipmicra {name}</code>" in reference

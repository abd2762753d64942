"""Each role's packages are locked by version and digest, as pyproject.toml and constraints.txt say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.locked_requirements import FOLDER, REPOSITORY, ROLES, LockedPackage, locked

ENVIRONMENT = {"python_version": "3.11", "python_full_version": "3.11.0", "sys_platform": "linux"}


def constrained() -> dict[str, str]:
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line)
    return {canonicalize_name(name): version for name, version in pairs}


def wanted(role: str) -> list[str]:
    """What the role asks for by name."""
    if role == "build":
        lines = (FOLDER / "build.in").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line and not line.startswith("#")]
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return [*project["dependencies"], *([] if role == "host" else _of_extra(extras, role))]


def _of_extra(extras: dict[str, list[str]], name: str) -> Iterator[str]:
    for line in extras[name]:
        own = re.fullmatch(r"ipmicra\[(.*)\]", line)
        if own is None:
            yield line
        else:
            for inner in own[1].split(","):
                yield from _of_extra(extras, inner)


def closure(lines: Iterable[str]) -> set[str]:
    """Names of all that is needed, by the metadata of what is installed here."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in lines]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if one.marker is not None and not one.marker.evaluate({**ENVIRONMENT, "extra": ""}):
            continue
        found.add(name)
        for line in requires(one.name) or ():
            inner = Requirement(line)
            if any(_applies(inner, extra) for extra in ("", *one.extras)):
                inner.marker = None
                if canonicalize_name(inner.name) not in found or inner.extras:
                    waiting.append(inner)
    return found


def _applies(one: Requirement, extra: str) -> bool:
    return one.marker is None or one.marker.evaluate({**ENVIRONMENT, "extra": extra})


def is_on_linux(package: LockedPackage) -> bool:
    return package.applies_here()


@pytest.mark.parametrize("role", ROLES)
def test_every_package_has_the_version_of_the_constraints_and_a_digest(role: str) -> None:
    versions = constrained()
    for package in locked(role):
        assert versions.get(package.name) == package.version, package.name
        assert package.digests, package.name


@pytest.mark.parametrize("role", ROLES)
def test_all_that_a_role_needs_is_locked_and_nothing_else(role: str) -> None:
    there = {package.name for package in locked(role) if is_on_linux(package)}
    assert there == closure(wanted(role)), "run: make lock"


def test_no_lock_says_where_packages_come_from() -> None:
    for path in FOLDER.glob("*.txt"):
        assert not re.search(r"://|--(extra-)?index-url|--find-links", path.read_text(encoding="utf-8"))


def test_a_line_that_is_not_pinned_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr("tools.locked_requirements.FOLDER", tmp_path)
    assert hasattr(tmp_path, "joinpath")
    tmp_path.joinpath("host.txt").write_text("click>=8\n", encoding="utf-8")
    with pytest.raises(ValueError, match="neither"):
        locked("host")


def test_containers_and_releases_install_from_the_locks_only() -> None:
    container = (REPOSITORY / "deploy" / "Containerfile").read_text(encoding="utf-8")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install [^&\n]*", container)
    assert len(installs) == 3
    ways = ("--require-hashes", "--no-deps --no-index")
    assert [line for line in installs if not any(way in line for way in ways)] == []
    assert "--require-hashes --only-binary :all: --requirement requirements/build.txt" in makefile

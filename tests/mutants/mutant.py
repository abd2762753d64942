"""Rows of `tests/mutants/rows/*.toml` -> mutants: a promise, a change that breaks it, a test that must fail.

Invariant: a mutant changes exactly one place, or it is refused as stale.
"""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import msgspec

REPOSITORY = Path(__file__).parents[2]
ROWS = REPOSITORY / "tests" / "mutants" / "rows"


class Mutant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str  # the heading of the row, in lower case with dashes
    promise: str  # what holds as long as nobody makes this change
    place: str  # a file below src/ipmicra
    before: str  # occurs once there
    after: str
    test: str  # the smallest selection that fails: a file, or file::function
    quick: bool = False  # tried by `make test` too: about a second each, a minute for all of them
    survives: str = ""  # why no test can notice yet; such a row is counted, and fails when it is noticed

    def mutated(self, source: str) -> str:
        count = source.count(self.before)
        if count != 1:
            raise ValueError(f"{self.name}: its place is found {count} times in {self.place}, not once")
        return source.replace(self.before, self.after)

    def problems(self, repository: Path = REPOSITORY) -> list[str]:
        """What keeps this row from being tried: it is stale, changes nothing, or names no test."""
        source, (test, _, function) = repository / "src/ipmicra" / self.place, self.test.partition("::")
        if not source.is_file() or not (repository / test).is_file():
            return [f"{self.name}: {self.place} or {test} is not a file"]
        try:
            compile(self.mutated(source.read_text(encoding="utf-8")), self.place, "exec")
        except (ValueError, SyntaxError) as wrong:
            return [str(wrong)]
        known = f"def {function.partition('[')[0]}" in (repository / test).read_text(encoding="utf-8")
        found = [] if known else [f"{self.name}: {test} has no test {function}"]
        return found + ([f"{self.name}: it changes nothing"] if self.before == self.after else [])


def rows_of(text: str) -> list[Mutant]:
    return [msgspec.convert({"name": name, **row}, Mutant) for name, row in tomllib.loads(text).items()]


def all_mutants(folder: Path = ROWS) -> list[Mutant]:
    found = [mutant for path in sorted(folder.glob("*.toml")) for mutant in rows_of(path.read_text())]
    names = [mutant.name for mutant in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"rows with one name: {', '.join(sorted(twice))}")
    return found


def touched_since(mutants: list[Mutant], revision: str) -> list[Mutant]:
    """Those whose source, test or row differs from the revision."""
    changed = set(git("diff", "--name-only", revision).split())
    files = git("ls-tree", "-r", "--name-only", revision, str(ROWS)).split()
    before = {row for name in files if name.endswith(".toml") for row in former_rows(revision, name)}
    return [
        mutant
        for mutant in mutants
        if mutant not in before
        or {f"src/ipmicra/{mutant.place}", mutant.test.partition("::")[0]} & changed
    ]


def former_rows(revision: str, name: str) -> list[Mutant]:
    """Rows of another revision, whose fields may have been others."""
    known, rows = set(Mutant.__struct_fields__), tomllib.loads(git("show", f"{revision}:{name}"))
    plain = {row: {key: fields[key] for key in fields if key in known} for row, fields in rows.items()}
    return [msgspec.convert({"name": row, **fields}, Mutant) for row, fields in plain.items()]


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout

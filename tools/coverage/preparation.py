"""The program's source -> a folder with its marked code, compiled once for all processes of a run.

The folder holds `code` (all modules, one after another), `index` (where each is), `places.json` (what each
mark means) and `taken` (a byte for each mark, 0 until it has run).
"""

from __future__ import annotations

import importlib.util
import json
import marshal
from collections.abc import Iterator
from pathlib import Path

from tools.coverage.marked_source import Place, mark

REPOSITORY = Path(__file__).parents[2]
SOURCE = REPOSITORY / "src"


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((SOURCE / "ipmicra").rglob("*.py")):
        yield module_of(path), path


def prepare(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    index: dict[str, tuple[str, int, int, int]] = {}
    places: dict[str, list[Place]] = {}
    number = 0
    with (folder / "code").open("wb") as code:
        for module, path in modules():
            tree, marks = mark(path.read_text(encoding="utf-8"), number)
            binary = marshal.dumps(compile(tree, str(path), "exec", dont_inherit=True))
            index[module] = (str(path), path.stat().st_mtime_ns, code.tell(), len(binary))
            places[module] = marks
            number += len(marks)
            code.write(binary)
    (folder / "index").write_bytes(marshal.dumps((importlib.util.MAGIC_NUMBER, index)))
    (folder / "places.json").write_text(json.dumps(places), encoding="utf-8")
    (folder / "taken").write_bytes(bytes(number))

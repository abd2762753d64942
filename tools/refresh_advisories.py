"""A folder of OSV records -> requirements/advisories.json: those about packages that we install.

    python tools/refresh_advisories.py FOLDER DATE

FOLDER: the unpacked archive of the PyPI ecosystem that the OSV project publishes, one JSON file per advisory.
DATE: when it was fetched, as 2026-11-18. Withdrawn advisories are left out; one range is one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.audit import ADVISORIES, Advisory
from tools.locked_requirements import all_locked

SUMMARY_CHARACTERS_MAX = 160


def advisories_in(folder: Path, names: set[str]) -> Iterator[Advisory]:
    for path in sorted(folder.glob("*.json")):
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if "withdrawn" in record:
            continue
        for affected in record.get("affected", ()):
            name = affected["package"]["name"].lower().replace("_", "-")
            if affected["package"]["ecosystem"] == "PyPI" and name in names:
                yield from _advisories_of(record, name, affected)


def _advisories_of(record: dict[str, Any], name: str, affected: dict[str, Any]) -> Iterator[Advisory]:
    identity = next((one for one in record.get("aliases", ()) if one.startswith("CVE-")), record["id"])
    text = record.get("summary") or record.get("details") or ""
    summary = " ".join(text.split())[:SUMMARY_CHARACTERS_MAX]
    for span in affected.get("ranges", ()):
        if span["type"] != "ECOSYSTEM":
            continue
        introduced, is_open = "", False
        for event in span["events"]:
            if "introduced" in event:
                introduced = "" if event["introduced"] == "0" else event["introduced"]
                is_open = True
            elif "fixed" in event:
                yield Advisory(identity, name, introduced, event["fixed"], summary)
                is_open = False
        if is_open:
            yield Advisory(identity, name, introduced, "", summary)


def main(words: list[str]) -> int:
    folder, date = words
    names = {package.name for package in all_locked()}
    found = sorted(set(advisories_in(Path(folder), names)))
    told = {
        "date": date,
        "source": "OSV records of the PyPI ecosystem, those about packages in requirements/",
        "advisories": [advisory._asdict() for advisory in found],
    }
    ADVISORIES.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(found)} advisories about {len({one.package for one in found})} packages")  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

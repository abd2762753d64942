"""Locked packages, crates of the compiled reader, vendored scripts -> a bill of materials (CycloneDX 1.6).

    python tools/sbom.py dist/ipmicra-0.2.0.cdx.json

The same sources give the same bytes: the serial number is made of the contents, the time is
SOURCE_DATE_EPOCH. Each package has as properties the digests of all files that may be installed, and the
roles that install it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.audit import licence_table
from tools.locked_requirements import REPOSITORY, ROLES, all_locked, locked

VENDORED = REPOSITORY / "src" / "ipmicra" / "theme" / "files" / "vendored"
CARGO_LOCK = REPOSITORY / "native" / "markup" / "Cargo.lock"
EPOCH_DEFAULT = 1_577_836_800  # 2020-01-01, as hatchling has it
_ROW = re.compile(
    r"^\| (?P<files>[^|]+) \| (?P<name>[a-z0-9.-]+), [^|]* \| (?P<version>[0-9.]+) \| (?P<licence>[^,|]+)"
)


def bill_of_materials(version: str) -> dict[str, Any]:
    components = [*_python_components(), *_crates(), *_scripts()]
    root = _component("application", f"pkg:pypi/ipmicra@{version}", "ipmicra", version, "Apache-2.0")
    body = {
        "components": components,
        "dependencies": [{"ref": root["bom-ref"], "dependsOn": [one["bom-ref"] for one in components]}],
    }
    epoch_s = int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH_DEFAULT))
    digest = hashlib.sha256(json.dumps([version, body], sort_keys=True).encode()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": root,
        },
        **body,
    }


def _python_components() -> Iterator[dict[str, Any]]:
    licences = licence_table().packages
    installed_by = {role: {package.name for package in locked(role)} for role in ROLES}
    for package in all_locked():
        purl = f"pkg:pypi/{package.name}@{package.version}"
        one = _component("library", purl, package.name, package.version, licences.get(package.name))
        roles = ",".join(role for role in ROLES if package.name in installed_by[role])
        digests = [{"name": "ipmicra:sha256", "value": digest} for digest in package.digests]
        yield {**one, "properties": [{"name": "ipmicra:roles", "value": roles}, *digests]}


def _crates() -> Iterator[dict[str, Any]]:
    for package in tomllib.loads(CARGO_LOCK.read_text(encoding="utf-8"))["package"]:
        if "checksum" in package:  # not our own
            purl = f"pkg:cargo/{package['name']}@{package['version']}"
            one = _component("library", purl, package["name"], package["version"], None)
            yield {**one, "hashes": [{"alg": "SHA-256", "content": package["checksum"]}]}


def _scripts() -> Iterator[dict[str, Any]]:
    for line in (VENDORED / "README.md").read_text(encoding="utf-8").splitlines():
        if row := _ROW.match(line):
            purl = f"pkg:npm/{row['name']}@{row['version']}"
            one = _component("library", purl, row["name"], row["version"], row["licence"].strip())
            files = [name.strip() for name in row["files"].split(",")]
            yield {**one, "components": [_file(name, one["bom-ref"]) for name in files]}


def _file(name: str, owner: str) -> dict[str, Any]:
    digest = hashlib.sha256((VENDORED / name).read_bytes()).hexdigest()
    hashes = [{"alg": "SHA-256", "content": digest}]
    return {"type": "file", "bom-ref": f"{owner}#{name}", "name": name, "hashes": hashes}


def _component(kind: str, purl: str, name: str, version: str, licence: str | None) -> dict[str, Any]:
    one: dict[str, Any] = {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}
    return one if licence is None else {**one, "licenses": [{"expression": licence}]}


def program_version() -> str:
    source = (REPOSITORY / "src" / "ipmicra" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    if found is None:
        raise SystemExit("src/ipmicra/__init__.py does not say which version this is")
    return found[1]


def main(words: list[str]) -> int:
    (target,) = words
    text = json.dumps(bill_of_materials(program_version()), indent=1, sort_keys=True)
    Path(target).write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

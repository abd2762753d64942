"""The running program -> what others see of it, as plain data: one function for each golden file.

Invariant: prose (help texts, descriptions, messages) and Python's own names are left out, so that they may
be rewritten freely; everything else is in.
"""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from ipmicra.cli.main import program
from ipmicra.coordinator.admin.crawler_states import CrawlerState, OperatorCommand
from ipmicra.coordinator.bundles.rollout import RolloutState
from ipmicra.coordinator.store.events import EventKind
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.store.sql import schema
from ipmicra.crawler.frontier import Frontier
from ipmicra.host.store import HostStore
from ipmicra.model.failures import FailureKind
from ipmicra.overlay.live.package_store import PeerPackageStore
from ipmicra.protocol.signing import RequestSignature, signed_headers
from ipmicra.settings import ENVIRONMENT_PREFIX, FILE_VARIABLE, Settings
from tests.compatibility.commands import copied, get, is_ready, running, wait_until
from tests.compatibility.schemas import plain, samples_of, schema_of
from tests.compatibility.wire import CONVERSATIONS

GOLDEN = Path(__file__).parent / "golden"


def wire_schema() -> Any:
    return {
        name: {"encoding": one.encoding, "schema": schema_of(one.kind)}
        for name, one in CONVERSATIONS.items()
    }


def wire_bytes() -> Any:
    """For each record a message with every field, as it is written."""
    found: dict[str, Any] = {}
    for name, one in CONVERSATIONS.items():
        for tag, sample in samples_of(one.kind):
            written = one.encoded(one.decoded(one.encoded(sample)))
            key = f"{name}: {tag}" if tag else name
            found[key] = written.decode() if one.encoding == "json" else written.hex()
    return found


def signed_request() -> Any:
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    claim = RequestSignature("lima", "reports", 1_700_000_000_000, 7, b"")
    return signed_headers(key, "POST", "/v1/host/report?x=1", b"body", claim)


def words() -> Any:
    """Words that are kept in rows or travel, by what they tell."""
    kinds = {
        "failure of a fetch": FailureKind,
        "kind of an event": EventKind,
        "state of a host": HostState,
        "state of a site": SiteStatus,
        "state of a package": PackageState,
        "state of a crawler": CrawlerState,
        "wish of an operator": OperatorCommand,
        "state of a roll-out": RolloutState,
    }
    return {name: sorted(str(member.value) for member in kind) for name, kind in kinds.items()}


def settings() -> Any:
    """Every setting by its dotted name: type, default, and the variable that sets it."""
    found: dict[str, Any] = {"file variable": FILE_VARIABLE}
    for table in schema_of(Settings)["record"]:
        for field in table["type"]["record"]:
            name = f"{table['name']}.{field['name']}"
            variable = ENVIRONMENT_PREFIX + f"{table['name']}_{field['name']}".upper()
            found[name] = {
                "type": field["type"], "default": field.get("default"), "variable": variable,
            }  # fmt: skip
    found["general.data_folder"]["default"] = "by the environment"
    return found


def commands() -> Any:
    """Every command with its options and arguments."""
    return dict(_commands("ipmicra", program))


def _commands(name: str, command: click.Command) -> Iterator[tuple[str, Any]]:
    yield name, {"/".join((*one.opts, *one.secondary_opts)): _parameter(one) for one in command.params}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from _commands(f"{name} {child}", found)


def _parameter(one: click.Parameter) -> Any:
    told = one.to_info_dict()
    kept = ("param_type_name", "nargs", "multiple", "required", "is_flag", "count", "envvar")
    found = {key: told[key] for key in kept if told.get(key) not in (None, False)}
    kind = {key: value for key, value in told["type"].items() if key not in ("name", "func")}
    default = told.get("default")
    if isinstance(default, (str, int, float, bool)):
        found["default"] = default
    return found | {"type": kind}


def coordinator_sql() -> Any:
    dialects = {"sqlite": sqlite.dialect(), "postgresql": postgresql.dialect()}  # type: ignore[no-untyped-call]
    found: dict[str, Any] = {"version": schema.SCHEMA_VERSION}
    for dialect_name, dialect in dialects.items():
        for table in schema.metadata.sorted_tables:
            parts: list[Any] = [CreateTable(table), *map(CreateIndex, _indexes(table))]
            for part in parts:
                text = str(part.compile(dialect=dialect))
                found[f"{dialect_name}: {_folded(text).split('(')[0].strip()}"] = _folded(text)
    return found


def _indexes(table: Any) -> list[Any]:
    return sorted(table.indexes, key=lambda index: str(index.name))


def _folded(text: str) -> str:
    """On one line, without comments."""
    return " ".join(re.sub("--[^\n]*", "", text).split())


def files_sql() -> Any:
    """Tables of the files that the program keeps, as it makes them new."""
    makers: dict[str, Callable[[Path], Any]] = {
        "frontier": lambda folder: Frontier(folder / "frontier.sqlite"),
        "host": HostStore,
        "peer, with its index": PeerPackageStore,
    }
    found: dict[str, Any] = {}
    for name, maker in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            maker(Path(folder)).close()
            for path in sorted(Path(folder).rglob("*.sqlite")):
                found[f"{name}: {path.relative_to(folder)}"] = _tables(path)
    return found


def _tables(path: Path) -> Any:
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(
            "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1"
        ).fetchall()
        version = database.execute("PRAGMA user_version").fetchone()[0]
    return {"version": version, **{name: _folded(sql) for name, sql in rows}}


def served() -> Any:
    """A coordinator that runs on the data of version 0.1.0: its API's description and its metrics."""
    with tempfile.TemporaryDirectory() as name, socket.socket() as probe:
        folder = Path(name)
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
        probe.close()
        home, log = copied("coordinator", folder), folder / "log"
        with running(home, log, "coordinator", "run", "--listen", place):
            wait_until(lambda: is_ready(f"http://{place}"), log)
            described = json.loads(get("/schema/openapi.json", f"http://{place}"))
            metrics = get("/metrics", f"http://{place}")
    return {"api": _api(described), "metrics": _metrics(metrics)}


def _api(described: dict[str, Any]) -> Any:
    found = {}
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            found[f"{method.upper()} {path}"] = {
                "parameters": {
                    f"{given['in']} {given['name']}": {
                        "required": given.get("required", False),
                        "schema": _resolved(given.get("schema"), described),
                    }
                    for given in one.get("parameters", ())
                },
                "body": _content(one.get("requestBody", {}), described),
                "answers": {
                    status: _content(answer, described) for status, answer in one["responses"].items()
                },
            }
    return found


def _content(body: dict[str, Any], described: dict[str, Any]) -> Any:
    return {
        media: _resolved(one.get("schema"), described) for media, one in body.get("content", {}).items()
    }


def _resolved(part: Any, described: dict[str, Any]) -> Any:
    """A schema with what it refers to written out, without prose and names of Python's."""
    if isinstance(part, list):
        return [_resolved(one, described) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _resolved(described["components"]["schemas"][part["$ref"].rpartition("/")[2]], described)
    found = {}
    for key, value in part.items():
        if key == "properties":
            found[key] = {name: _resolved(one, described) for name, one in value.items()}
        elif key not in ("title", "description", "examples", "summary"):
            found[key] = _resolved(value, described)
    return found


def _metrics(text: str) -> Any:
    """Names of ours, with type, and the labels of gauges: other series may not have begun yet."""
    found: dict[str, Any] = {}
    for family in text_string_to_metric_families(text):
        if family.name.startswith("ipmicra_") and not family.name.endswith("_created"):
            is_gauge = family.type == "gauge"
            labels = {label for sample in family.samples if is_gauge for label in sample.labels}
            found[family.name] = {"type": family.type, "labels": sorted(labels)}
    return found


OBSERVED: dict[str, Callable[[], Any]] = {
    "wire-schema": wire_schema,
    "wire-bytes": wire_bytes,
    "signed-request": signed_request,
    "words": words,
    "settings": settings,
    "commands": commands,
    "coordinator-sql": coordinator_sql,
    "files-sql": files_sql,
    "served": served,
}


def written(found: Any) -> str:
    """The text of a golden file."""
    return json.dumps(plain(found), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def golden(name: str) -> Any:
    return msgspec.json.decode((GOLDEN / f"{name}.json").read_bytes())

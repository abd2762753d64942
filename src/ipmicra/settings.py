"""One TOML file, then the environment, then flags -> one typed, frozen Settings object.

Each package with settings declares its own Struct, with a unit in every name and a description on every
field; `Settings` joins them, one table of the file each. Later sources win field by field. An unknown
key, a wrong type or an unreadable file is the operator's fault and names its source.

    [registry]            IPMICRA_REGISTRY_MALFORMED_SHARE_MAX=0.05
    malformed_share_max = 0.01              ipmicra --set registry.malformed_share_max=0.02 ...
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from ipmicra.coordinator.settings import CoordinatorSettings, ServiceSettings
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.settings import CrawlerSettings, CrawlSettings
from ipmicra.errors import OperatorFault
from ipmicra.host.settings import HostingSettings, HostSettings
from ipmicra.overlay.settings import OverlaySettings, PeerSettings
from ipmicra.probing.settings import ProbingSettings
from ipmicra.registry.settings import RegistrySettings
from ipmicra.search.settings import SearchSettings
from ipmicra.setting_fields import setting_field

_log = logging.getLogger(__name__)

RENAMED = {  # former names, which are still accepted
    "coordinator.acquaintance_seconds": "mesh_refresh_seconds",
    "coordinator.acquaintances_max": "mesh_partners_max",
}
ENVIRONMENT_PREFIX = "IPMICRA_"
FILE_VARIABLE = "IPMICRA_SETTINGS"
SERVICE_FILE = Path("/etc/ipmicra/ipmicra.toml")  # of a service; its owner alone can read it


def default_data_folder() -> str:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return f"{base}/ipmicra"


class GeneralSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that every command shares."""

    data_folder: Annotated[
        str,
        setting_field("Folder of all data: tree, frontier, packages, index."),
    ] = msgspec.field(default_factory=default_data_folder)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings. A field is a table of the TOML file."""

    general: GeneralSettings = GeneralSettings()
    fetching: FetchingSettings = FetchingSettings()
    probing: ProbingSettings = ProbingSettings()
    registry: RegistrySettings = RegistrySettings()
    crawler: CrawlerSettings = CrawlerSettings()
    host: HostSettings = HostSettings()
    coordinator: CoordinatorSettings = CoordinatorSettings()
    overlay: OverlaySettings = OverlaySettings()
    search: SearchSettings = SearchSettings()

    @property
    def data_folder(self) -> Path:
        return Path(self.general.data_folder).expanduser()

    @property
    def crawl(self) -> CrawlSettings:
        return CrawlSettings(data_folder=self.data_folder, crawler=self.crawler, fetching=self.fetching)

    @property
    def hosting(self) -> HostingSettings:
        return HostingSettings(
            crawler=self.crawler, fetching=self.fetching, probing=self.probing, host=self.host
        )

    @property
    def peer(self) -> PeerSettings:
        return PeerSettings(
            crawler=self.crawler,
            fetching=self.fetching,
            probing=self.probing,
            host=self.host,
            overlay=self.overlay,
        )

    @property
    def service(self) -> ServiceSettings:
        return ServiceSettings(
            searches_per_second_max=self.search.questions_per_second_max,
            data_folder=self.data_folder,
            contact=self.crawler.contact,
            coordinator=self.coordinator,
            fetching=self.fetching,
        )


class SettingInfo(NamedTuple):
    """One setting as people see it."""

    name: str  # "registry.malformed_share_max"
    value: object
    default: object
    source: str  # "default", the file's path, the variable's name, or "--set"
    description: str


def load_settings(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    overrides: Sequence[str] = (),
) -> tuple[Settings, list[SettingInfo]]:
    """Settings from all sources, and where each of them came from.

    `overrides` are "table.key=value" texts from the command line.
    """
    environment = os.environ if environment is None else environment
    layers = [
        *_layer_from_file(file or _file_to_read(environment)),
        *_layer_from_environment(environment),
        *(_assignment(text, "--set") for text in overrides),
    ]
    tables: dict[str, dict[str, object]] = {}
    sources: dict[str, str] = {}
    for table, name, value, source in layers:
        key = _current_name(table, name, source)
        tables.setdefault(table, {})[key] = _checked(table, key, value, source)
        sources[f"{table}.{key}"] = source
    settings = msgspec.convert(tables, Settings)
    return settings, list(_knobs(settings, sources))


def _file_to_read(environment: Mapping[str, str]) -> Path | None:
    named = environment.get(FILE_VARIABLE)
    if named:
        return Path(named).expanduser()
    candidates = [
        Path("ipmicra.toml"),
        Path("~/.config/ipmicra/ipmicra.toml").expanduser(),
        SERVICE_FILE,
    ]
    return next((path for path in candidates if path.is_file() and os.access(path, os.R_OK)), None)


_Assignment = tuple[str, str, object, str]


def _layer_from_file(path: Path | None) -> Iterator[_Assignment]:
    if path is None:
        return
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OperatorFault(f"cannot read the settings file {path}: {error}") from error
    for table, entries in document.items():
        if not isinstance(entries, dict):
            raise OperatorFault(f"{path}: {table!r} stands outside of a table such as [general]")
        for key, value in entries.items():
            yield table, key, value, str(path)


def _layer_from_environment(environment: Mapping[str, str]) -> Iterator[_Assignment]:
    tables = {section.name for section in msgspec.structs.fields(Settings)}
    for variable in sorted(environment):
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable == FILE_VARIABLE:
            continue
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        table, _, key = name.partition("_")
        if table in tables:  # others, such as IPMICRA_DATA of the benchmarks, are not settings
            yield table, key, _parsed(environment[variable]), variable


def _assignment(text: str, source: str) -> _Assignment:
    name, equals, value = text.partition("=")
    table, dot, key = name.strip().partition(".")
    if not equals or not dot:
        raise OperatorFault(f"{source} {text!r}: write table.key=value")
    return table, key, _parsed(value.strip()), source


def _parsed(text: str) -> object:
    """A value as TOML would read it; what is not TOML is plain text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _current_name(table: str, key: str, source: str) -> str:
    """The setting's present name; a former name is accepted with a warning."""
    current = RENAMED.get(f"{table}.{key}")
    if current is None:
        return key
    _log.warning("%s: %s.%s is now called %s.%s; please rename it", source, table, key, table, current)
    return current


def _checked(table: str, key: str, value: object, source: str) -> object:
    sections = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    if table not in sections:
        raise OperatorFault(f"{source}: unknown settings table {table!r}{_instead(table, sections)}")
    fields = {field.name: field for field in msgspec.structs.fields(sections[table])}
    if key not in fields:
        raise OperatorFault(f"{source}: unknown setting {table}.{key}{_instead(key, fields)}")
    try:
        return msgspec.convert(value, fields[key].type)
    except msgspec.ValidationError as error:
        raise OperatorFault(f"{source}: {table}.{key} = {value!r}: {error}") from error


def _instead(unknown: str, known: Iterable[str]) -> str:
    """The nearest known name as a suggestion; all known names if none is near."""
    names = list(known)
    near = [name for name in names if name.startswith(unknown)]
    near = (near or get_close_matches(unknown, names, n=3, cutoff=0.5))[:3]
    if near:
        return f"; did you mean {' or '.join(near)}? `ipmicra settings` lists all"
    return f"; there are {', '.join(names)}"


def _knobs(settings: Settings, sources: Mapping[str, str]) -> Iterator[SettingInfo]:
    for section in msgspec.structs.fields(Settings):
        values = getattr(settings, section.name)
        defaults = type(values)()
        for field in msgspec.structs.fields(values):
            name = f"{section.name}.{field.name}"
            yield SettingInfo(
                name=name,
                value=getattr(values, field.name),
                default=getattr(defaults, field.name),
                source=sources.get(name, "default"),
                description=_description(field.type),
            )


def _description(annotation: Any) -> str:
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, msgspec.Meta) and extra.description:
            return extra.description
    return ""

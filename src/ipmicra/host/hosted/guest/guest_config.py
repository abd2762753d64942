"""A host's settings -> the few that a crawler in a sandbox needs, as JSON; and back, in any version.

Invariant: a setting crosses into the sandbox only if it is listed in `GUEST_SETTINGS`: no address of a
database, no folder, nothing of the owner's. What the reader does not know is ignored, and what the writer
does not send has its default, so hosts and bundles of different versions start each other's code.

| version | what is new in it                                                                           |
|--------:|---------------------------------------------------------------------------------------------|
|       1 | ipmicra 0.1.0: no version, and all settings. Its bundles refuse what they do not know under |
|         | `settings`, so a later setting must not be listed there: it becomes a field of GuestConfig  |
|       2 | the listed settings only, and `protocol`                                                    |
"""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

import msgspec

from ipmicra.crawler.parsing.pool import ParserLimits
from ipmicra.errors import HostFault
from ipmicra.host.settings import HostingSettings
from ipmicra.protocol.host_messages import PROTOCOL, PROTOCOL_WITHOUT_NONE

VERSION = 2

GUEST_SETTINGS = {
    "fetching": (
        "connect_ms_max",
        "first_byte_ms_max",
        "total_ms_max",
        "rate_bytes_per_second_min",
        "rate_grace_ms",
        "body_bytes_max",
        "inflate_ratio_max",
        "header_bytes_max",
        "header_count_max",
        "redirects_max",
        "idle_ms_max",
        "idle_connections_max",
        "dns_ttl_seconds_min",
        "dns_ttl_seconds_max",
        "dns_failure_seconds",
        "dns_names_max",
        "open_ports",
        "authorities_file",  # a file that the sandbox may read
    ),
    "probing": ("ways", "passive_seconds_max", "passive_addresses_max"),
    "crawler": (
        "contact",  # for the User-Agent
        "product",
        "delay_seconds_min",
        "response_time_factor",
        "grants",
        "site_pages_max",
        "site_bytes_max",
        "depth_max",
        "dropped_parameters",
        "sites_open_max",
        "retries_max",
        "retry_seconds",
        "patience_seconds",
        "commit_pages",
        "commit_seconds",
        "package_records_max",
        "package_bytes_max",
        "package_seconds_max",
        "package_level",
        "recent_urls_max",
        "revisit_seconds_min",
        "revisit_seconds_max",
        "revisit_seconds_first",
        "revisit_bytes_per_day",
    ),
    "host": ("download_bytes_per_second_max", "memory_bytes_max", "connections_max"),
}


class GuestConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of the code in a sandbox."""

    name: str  # the crawler's
    settings: dict[str, dict[str, Any]] = {}
    version: int = 1
    protocol: int = PROTOCOL_WITHOUT_NONE  # of the messages that the host understands
    was_ended: bool = False  # the code before, by itself or by the host, since it did not answer
    parsers: ParserLimits | None = None  # None: no process can be started for large pages


def encode_config(
    name: str,
    settings: HostingSettings,
    was_ended: bool = False,
    parsers: ParserLimits | None = None,
) -> bytes:
    config = GuestConfig(
        name=name,
        settings=_listed(settings),
        version=VERSION,
        protocol=PROTOCOL,
        was_ended=was_ended,
        parsers=parsers,
    )
    return msgspec.json.encode(config)


def encode_settings(settings: HostingSettings) -> bytes:
    """The settings alone, for a guest that is to work with new ones."""
    return msgspec.json.encode(_listed(settings))


def read_config(data: bytes) -> GuestConfig:
    try:
        return msgspec.json.decode(data, type=GuestConfig)
    except msgspec.MsgspecError as error:
        raise HostFault(
            f"reading the configuration that the host started this crawler with: {error}"
        ) from error


def read_settings(data: bytes) -> HostingSettings:
    try:
        return settings_in(msgspec.json.decode(data, type=dict[str, dict[str, Any]]))
    except msgspec.MsgspecError as error:
        raise HostFault(f"reading the settings that the host sends: {error}") from error


def settings_in(tables: dict[str, dict[str, Any]]) -> HostingSettings:
    """Settings of this version. A value that is not sent or not known has its default.

    Raises HostFault for a value that this version cannot use.
    """
    try:
        return msgspec.convert(_known(tables, HostingSettings), HostingSettings)
    except msgspec.ValidationError as error:
        raise HostFault(f"the settings that the host sends: {error}") from error


def _listed(settings: HostingSettings) -> dict[str, dict[str, Any]]:
    tables = msgspec.to_builtins(settings)
    return {
        table: {name: tables[table][name] for name in names} for table, names in GUEST_SETTINGS.items()
    }


def _known(value: Any, kind: Any) -> Any:
    """The value without fields that the kind does not have."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) is tuple and isinstance(value, list):
        return [_known(item, get_args(kind)[0]) for item in value]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        return {name: _known(item, fields[name]) for name, item in value.items() if name in fields}
    return value

"""Settings of fetching. Higher limits cost memory (bytes) or time (ms) per running fetch."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ipmicra.net.dns_cache import DnsCacheBounds
from ipmicra.setting_fields import setting_field


class FetchingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits on time and memory per site, and where we may connect to."""

    connect_ms_max: Annotated[
        int,
        setting_field(
            "Timeout of the TCP connection, and again of the TLS handshake, in milliseconds.", at_least=1
        ),
    ] = 10_000
    first_byte_ms_max: Annotated[
        int, setting_field("Timeout until the first byte of a response, in milliseconds.", at_least=1)
    ] = 20_000
    total_ms_max: Annotated[
        int, setting_field("Timeout of a whole response, in milliseconds.", at_least=1)
    ] = 60_000
    rate_bytes_per_second_min: Annotated[
        int,
        setting_field("Minimum rate of a response in bytes per second, after the grace.", at_least=0),
    ] = 500
    rate_grace_ms: Annotated[
        int,
        setting_field(
            "Time during which a response may be slower than that, in milliseconds.", at_least=0
        ),
    ] = 10_000
    body_bytes_max: Annotated[
        int,
        setting_field(
            "Maximum bytes of a body, as sent and again after decompression; the rest is cut.",
            at_least=1,
        ),
    ] = 8 << 20
    inflate_ratio_max: Annotated[
        int,
        setting_field(
            "A body that was cut, and was compressed by more than this factor, is refused as "
            "a decompression bomb.",
            at_least=1,
        ),
    ] = 200
    header_bytes_max: Annotated[
        int, setting_field("Maximum bytes of status line and header fields together.", at_least=1)
    ] = 64 << 10
    header_count_max: Annotated[
        int, setting_field("Maximum number of header fields in one response.", at_least=1)
    ] = 200
    redirects_max: Annotated[
        int, setting_field("Maximum number of redirects per fetch.", at_least=0)
    ] = 5
    idle_ms_max: Annotated[
        int,
        setting_field("Time after which an unused connection is closed, in milliseconds.", at_least=0),
    ] = 30_000
    idle_connections_max: Annotated[
        int,
        setting_field(
            "Maximum number of idle connections; the longest unused is closed first.", at_least=0
        ),
    ] = 500
    dns_ttl_seconds_min: Annotated[
        int, setting_field("Minimum time that a DNS answer is cached, in seconds.", at_least=0)
    ] = 60
    dns_ttl_seconds_max: Annotated[
        int, setting_field("Maximum time that a DNS answer is cached, in seconds.", at_least=0)
    ] = 86_400
    dns_failure_seconds: Annotated[
        int, setting_field("Time that a failed look-up is cached, in seconds.", at_least=0)
    ] = 300
    dns_names_max: Annotated[
        int, setting_field("Maximum number of cached names; about 300 bytes each.", at_least=1)
    ] = 100_000
    dns_servers: Annotated[
        tuple[str, ...], setting_field("Name servers to use; none: those of the machine.")
    ] = ()
    source_address: Annotated[
        str, setting_field("Source address of connections; empty: chosen by the machine's routes.")
    ] = ""
    open_ranges: Annotated[
        tuple[str, ...],
        setting_field("Non-public address ranges that may be crawled anyway, for tests or an intranet."),
    ] = ()
    open_ports: Annotated[
        tuple[int, ...], setting_field("Ports below 1024 that may be crawled besides 80 and 443.")
    ] = ()
    closed_ranges: Annotated[
        tuple[str, ...],
        setting_field(
            "Address ranges that are never crawled, such as this network's own public addresses."
        ),
    ] = ()
    authorities_file: Annotated[
        str, setting_field("A PEM file of certificate authorities to trust besides the system's.")
    ] = ""

    @property
    def dns_cache(self) -> DnsCacheBounds:
        return DnsCacheBounds(
            ttl_seconds_min=self.dns_ttl_seconds_min,
            ttl_seconds_max=self.dns_ttl_seconds_max,
            failure_seconds=self.dns_failure_seconds,
            names_max=self.dns_names_max,
        )

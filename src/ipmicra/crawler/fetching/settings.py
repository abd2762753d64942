"""The knobs of fetching. More of a limit costs memory (bytes) or patience (ms) per running fetch."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ipmicra.net.dns_cache import DnsCacheBounds
from ipmicra.setting_fields import setting_field


class FetchingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a site may try our patience and our memory, and where we may connect to."""

    connect_ms_max: Annotated[
        int, setting_field("Time for the TCP connection, and again for TLS.", at_least=1)
    ] = 10_000
    first_byte_ms_max: Annotated[
        int, setting_field("Silence allowed before the first byte.", at_least=1)
    ] = 20_000
    total_ms_max: Annotated[int, setting_field("Time for one whole answer.", at_least=1)] = 60_000
    rate_bytes_per_second_min: Annotated[
        int, setting_field("A slower answer is given up, once the grace is over.", at_least=0)
    ] = 500
    rate_grace_ms: Annotated[
        int, setting_field("How long an answer may be slower than that.", at_least=0)
    ] = 10_000
    body_bytes_max: Annotated[
        int,
        setting_field("A longer body is cut here, on the wire and again while inflating.", at_least=1),
    ] = 8 << 20
    inflate_ratio_max: Annotated[
        int,
        setting_field(
            "A body cut while inflating by more than this factor is a bomb, not a page.", at_least=1
        ),
    ] = 200
    header_bytes_max: Annotated[
        int, setting_field("Status line and header fields together.", at_least=1)
    ] = 64 << 10
    header_count_max: Annotated[int, setting_field("Header fields in one answer.", at_least=1)] = 200
    redirects_max: Annotated[int, setting_field("Hops that one fetch may be sent on.", at_least=0)] = 5
    idle_ms_max: Annotated[
        int, setting_field("An unused connection is closed after this.", at_least=0)
    ] = 30_000
    idle_connections_max: Annotated[
        int, setting_field("Unused connections kept in all; the longest unused goes first.", at_least=0)
    ] = 500
    dns_ttl_seconds_min: Annotated[
        int, setting_field("A DNS answer is kept at least this long.", at_least=0)
    ] = 60
    dns_ttl_seconds_max: Annotated[
        int, setting_field("A DNS answer is kept at most this long.", at_least=0)
    ] = 86_400
    dns_failure_seconds: Annotated[
        int, setting_field("How long a failed look-up is remembered.", at_least=0)
    ] = 300
    dns_names_max: Annotated[
        int, setting_field("Names remembered; some 300 bytes each.", at_least=1)
    ] = 100_000
    dns_servers: Annotated[
        tuple[str, ...], setting_field("Name servers to ask; none: the machine's own.")
    ] = ()
    source_address: Annotated[
        str, setting_field("Connect from this address of the machine; empty: as its routes say.")
    ] = ""
    open_ranges: Annotated[
        tuple[str, ...],
        setting_field("Non-public address ranges that may be crawled all the same: tests, an intranet."),
    ] = ()
    open_ports: Annotated[
        tuple[int, ...], setting_field("Ports below 1024 to crawl beside 80 and 443.")
    ] = ()
    closed_ranges: Annotated[
        tuple[str, ...],
        setting_field(
            "Address ranges never to be crawled, such as this network's own public addresses."
        ),
    ] = ()
    authorities_file: Annotated[
        str, setting_field("A PEM file of certificate authorities to trust beside the system's.")
    ] = ""

    @property
    def dns_cache(self) -> DnsCacheBounds:
        return DnsCacheBounds(
            ttl_seconds_min=self.dns_ttl_seconds_min,
            ttl_seconds_max=self.dns_ttl_seconds_max,
            failure_seconds=self.dns_failure_seconds,
            names_max=self.dns_names_max,
        )

"""The knobs of the coordinator. Times are patience: more of it disturbs less and notices later."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ipmicra.setting_fields import described


class KnownPage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page of the operator's own, and words that stand in it."""

    url: str
    words: str


class CoordinatorSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the coordinator keeps its state, whom it believes, and how it delegates."""

    database: Annotated[
        str, described("sqlite:///FILE or postgresql://...; empty: SQLite in the data folder.")
    ] = ""
    packages: Annotated[
        str, described("s3://BUCKET/PREFIX for packages; empty: files in the data folder.")
    ] = ""
    integrates: Annotated[
        bool, described("Whether this replica takes packages into the index in its data folder.")
    ] = True
    trusted_proxies: Annotated[
        str, described("Addresses of proxies whose X-Forwarded-For is believed, with commas between.")
    ] = ""
    lease_seconds: Annotated[
        float,
        described("A host silent for this long loses its sites, unless nearly all are silent at once."),
    ] = 900.0
    poll_seconds_max: Annotated[float, described("The longest that a request for orders is held.")] = (
        50.0
    )
    token_hours: Annotated[float, described("How long a join token may wait to be used.")] = 72.0
    hosts_per_address_max: Annotated[
        int, described("Hosts that may join from one public address: more could outvote the others.")
    ] = 4
    hosts_per_network_max: Annotated[int, described("The same for its network, a /24 or a /48.")] = 16
    compared_share: Annotated[
        float, described("Of pages brought, how many another host looks at too; more costs requests.")
    ] = 0.005
    known_pages: Annotated[
        tuple[KnownPage, ...],
        described("Pages whose words you know, { url, words }: a crawler that brings others has lied."),
    ] = ()
    strategy: Annotated[str, described("Who takes which subnet; see docs/reference/strategies.md.")] = (
        "adaptive"
    )
    probe_seconds_max: Annotated[
        float, described("A host that has not answered a probe by then was not asked.")
    ] = 60.0
    probes_per_second_max: Annotated[float, described("Probes of all hosts together.")] = 50.0
    probes_per_target_an_hour_max: Annotated[
        int, described("Probes that one address gets from all hosts in an hour.")
    ] = 30
    sites_at_once_max: Annotated[int, described("Sites being delegated at the same time.")] = 200
    retry_seconds: Annotated[
        float, described("When a site that nobody could reach is looked at again.")
    ] = 86_400.0
    links_per_order_max: Annotated[int, described("New links sent to a crawler in one order.")] = 1_000
    release_seconds_max: Annotated[
        float, described("A released site whose state has not come by then moves without it.")
    ] = 600.0
    leader_seconds: Annotated[
        float, described("A replica silent for this long is no longer the leader.")
    ] = 15.0
    claim_seconds: Annotated[
        float, described("A package claimed for longer was left by a dead worker.")
    ] = 300.0
    rollout_soak_seconds: Annotated[
        float, described("How long a stage of a roll-out must stay healthy before the next begins.")
    ] = 3_600.0
    calibration_factor: Annotated[
        float, described("A subnet this many times slower than its history is looked at again.")
    ] = 2.0
    calibration_repeats: Annotated[int, described("So many times in a row.")] = 3
    calibration_rest_seconds: Annotated[float, described("No second look before this.")] = 3_600.0
    balancing: Annotated[
        str,
        described(
            "How a crawler over its daily capacity is relieved; see docs/explanation/balancing.md."
        ),
    ] = "variance"
    balancing_seconds: Annotated[float, described("Between two looks at the loads.")] = 300.0
    newcomer_probes_max: Annotated[
        int, described("Subnets of others that a new crawler is asked about.")
    ] = 20
    acquaintance_seconds: Annotated[
        float, described("How often two hosts measure how far they are from each other.")
    ] = 86_400.0
    acquaintances_max: Annotated[
        int, described("Other hosts that one host measures itself against.")
    ] = 50
    nearest_asks: Annotated[
        bool, described("Whether /v1/nearest may have unknown sites probed, within the caps.")
    ] = True
    state_bytes_max: Annotated[int, described("The largest state of one site that is handed over.")] = (
        256 << 20
    )

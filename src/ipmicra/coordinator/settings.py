"""The knobs of the coordinator. Times are patience: more of it disturbs less and notices later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.setting_fields import setting_field


class KnownPage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page of the operator's own, and words that stand in it."""

    url: str
    words: str


class CoordinatorSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the coordinator keeps its state, whom it believes, and how it delegates."""

    database: Annotated[
        str, setting_field("sqlite:///FILE or postgresql://...; empty: SQLite in the data folder.")
    ] = ""
    packages: Annotated[
        str, setting_field("s3://BUCKET/PREFIX for packages; empty: files in the data folder.")
    ] = ""
    integrates: Annotated[
        bool, setting_field("Whether this replica takes packages into the index in its data folder.")
    ] = True
    rebuilds_index: Annotated[
        bool, setting_field("Whether a lost or damaged index is made anew from the packages by itself.")
    ] = True
    trusted_proxies: Annotated[
        str,
        setting_field("Addresses of proxies whose X-Forwarded-For is believed, with commas between."),
    ] = ""
    lease_seconds: Annotated[
        float,
        setting_field(
            "A host silent for this long loses its sites, unless nearly all are silent at once."
        ),
    ] = 900.0
    poll_seconds_max: Annotated[
        float, setting_field("The longest that a request for orders is held.")
    ] = 50.0
    token_hours: Annotated[float, setting_field("How long a join token may wait to be used.")] = 72.0
    hosts_per_address_max: Annotated[
        int, setting_field("Hosts that may join from one public address: more could outvote the others.")
    ] = 4
    hosts_per_network_max: Annotated[int, setting_field("The same for its network, a /24 or a /48.")] = (
        16
    )
    compared_share: Annotated[
        float,
        setting_field("Of pages brought, how many another host looks at too; more costs requests."),
    ] = 0.005
    revokes_liars: Annotated[
        bool,
        setting_field(
            "Whether a host whose pages several others contradict is revoked at once; otherwise it is only "
            "reported."
        ),
    ] = True
    known_pages: Annotated[
        tuple[KnownPage, ...],
        setting_field(
            "Pages whose words you know, { url, words }: a crawler that brings others has lied."
        ),
    ] = ()
    strategy: Annotated[
        str, setting_field("Who takes which subnet; see docs/reference/strategies.md.")
    ] = "adaptive"
    probe_seconds_max: Annotated[
        float, setting_field("A host that has not answered a probe by then was not asked.")
    ] = 60.0
    probes_per_second_max: Annotated[float, setting_field("Probes of all hosts together.")] = 50.0
    probes_per_target_an_hour_max: Annotated[
        int, setting_field("Probes that one address gets from all hosts in an hour.")
    ] = 30
    sites_at_once_max: Annotated[int, setting_field("Sites being delegated at the same time.")] = 200
    retry_seconds: Annotated[
        float, setting_field("When a site that nobody could reach is looked at again.")
    ] = 86_400.0
    links_per_order_max: Annotated[int, setting_field("New links sent to a crawler in one order.")] = (
        1_000
    )
    release_seconds_max: Annotated[
        float, setting_field("A released site whose state has not come by then moves without it.")
    ] = 600.0
    leader_seconds: Annotated[
        float, setting_field("A replica silent for this long is no longer the leader.")
    ] = 15.0
    claim_seconds: Annotated[
        float, setting_field("A package claimed for longer was left by a dead worker.")
    ] = 300.0
    rollout_soak_seconds: Annotated[
        float, setting_field("How long a stage of a roll-out must stay healthy before the next begins.")
    ] = 3_600.0
    calibration_factor: Annotated[
        float, setting_field("A subnet this many times slower than its history is looked at again.")
    ] = 2.0
    calibration_repeats: Annotated[int, setting_field("So many times in a row.")] = 3
    calibration_rest_seconds: Annotated[float, setting_field("No second look before this.")] = 3_600.0
    balancing: Annotated[
        str,
        setting_field(
            "How a crawler over its daily capacity is relieved; see docs/explanation/balancing.md."
        ),
    ] = "variance"
    balancing_seconds: Annotated[float, setting_field("Between two looks at the loads.")] = 300.0
    newcomer_probes_max: Annotated[
        int, setting_field("Subnets of others that a new crawler is asked about.")
    ] = 20
    acquaintance_seconds: Annotated[
        float, setting_field("How often two hosts measure how far they are from each other.")
    ] = 86_400.0
    acquaintances_max: Annotated[
        int, setting_field("Other hosts that one host measures itself against.")
    ] = 50
    nearest_asks: Annotated[
        bool, setting_field("Whether /v1/nearest may have unknown sites probed, within the caps.")
    ] = True
    state_bytes_max: Annotated[
        int, setting_field("The largest state of one site that is handed over.")
    ] = 256 << 20


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a coordinator's process is run by."""

    data_folder: Path
    contact: str  # of the crawl's operator; hosts that set none of their own crawl under it
    coordinator: CoordinatorSettings
    fetching: FetchingSettings  # for DNS look-ups of submitted sites

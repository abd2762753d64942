"""The coordinator's settings. Longer times cause less traffic, and later reactions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.setting_fields import setting_field


class KnownPage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page that the operator controls, and words that it contains."""

    url: str
    words: str


class CoordinatorSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Storage, joining, cross-checks, probes and delegation of the coordinator."""

    database: Annotated[
        str, setting_field("sqlite:///FILE or postgresql://...; empty: SQLite in the data folder.")
    ] = ""
    packages: Annotated[
        str, setting_field("s3://BUCKET/PREFIX for packages; empty: files in the data folder.")
    ] = ""
    integrates: Annotated[
        bool,
        setting_field("Whether this replica integrates packages into the index in its data folder."),
    ] = True
    rebuilds_index: Annotated[
        bool,
        setting_field("Whether a lost or damaged index is rebuilt from the packages automatically."),
    ] = True
    address: Annotated[
        str,
        setting_field(
            "The address at which people and hosts reach the coordinator, such as https://crawl.example.org. "
            "Empty: where it listens."
        ),
    ] = ""
    trusted_proxies: Annotated[
        str,
        setting_field(
            "Addresses of proxies whose X-Forwarded-For header is trusted, separated by commas."
        ),
    ] = ""
    lease_seconds: Annotated[
        float,
        setting_field(
            "Seconds of silence after which a host loses its sites, unless nearly all hosts are silent."
        ),
    ] = 900.0
    poll_seconds_max: Annotated[
        float, setting_field("Maximum seconds that a request for orders is held open.")
    ] = 50.0
    token_hours: Annotated[float, setting_field("Hours until an unused join token expires.")] = 72.0
    hosts_per_address_max: Annotated[
        int,
        setting_field("Maximum hosts from one public address; more of them could outvote honest hosts."),
    ] = 4
    hosts_per_network_max: Annotated[
        int, setting_field("Maximum hosts from one public network, an IPv4 /24 or an IPv6 /48.")
    ] = 16
    hosts_per_operator_max: Annotated[
        int,
        setting_field("Maximum hosts from all networks of one operator, as far as the tree names it."),
    ] = 64
    compared_share: Annotated[
        float,
        setting_field("Share of delivered pages that another host fetches too; more costs requests."),
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
            "Pages whose content you know, { url, words }: a crawler that delivers other content is revoked."
        ),
    ] = ()
    strategy: Annotated[
        str,
        setting_field("Strategy that assigns subnets to crawlers; see docs/reference/strategies.md."),
    ] = "adaptive"
    probe_seconds_max: Annotated[
        float, setting_field("Seconds after which an unanswered probe order is cancelled.")
    ] = 60.0
    probes_per_second_max: Annotated[
        float, setting_field("Maximum probes per second of all hosts together.")
    ] = 50.0
    probes_per_target_an_hour_max: Annotated[
        int, setting_field("Maximum probes per hour that one address gets from all hosts.")
    ] = 30
    sites_at_once_max: Annotated[
        int, setting_field("Maximum number of sites that are being delegated at the same time.")
    ] = 200
    retry_seconds: Annotated[
        float, setting_field("Seconds until an unreachable site is tried again.")
    ] = 86_400.0
    links_per_package_max: Annotated[
        int,
        setting_field("Maximum links to other sites that are read from one package.", at_least=0),
    ] = 20_000
    new_sites_per_package_max: Annotated[
        int, setting_field("Maximum new sites that one package may bring.", at_least=0)
    ] = 1_000
    new_links_per_host_a_day_max: Annotated[
        int, setting_field("Maximum new links per day from the packages of one host.", at_least=0)
    ] = 1_000_000
    new_sites_per_host_a_day_max: Annotated[
        int, setting_field("Maximum new sites per day from the packages of one host.", at_least=0)
    ] = 20_000
    new_links_per_site_a_day_max: Annotated[
        int, setting_field("Maximum new links per day from the pages of one linking site.", at_least=0)
    ] = 100_000
    new_sites_per_site_a_day_max: Annotated[
        int, setting_field("Maximum new sites per day from the pages of one linking site.", at_least=0)
    ] = 2_000
    orders_kept_days: Annotated[
        float, setting_field("Days that orders are kept after hosts have done them.", above=0)
    ] = 30.0
    links_kept_days: Annotated[
        float,
        setting_field(
            "Days that links are kept after they were sent to a crawler; one of each site is always kept. "
            "If the crawler is lost later, its site is crawled from that link.",
            above=0,
        ),
    ] = 30.0
    links_per_order_max: Annotated[
        int, setting_field("Maximum new links sent to a crawler in one order.")
    ] = 1_000
    release_seconds_max: Annotated[
        float,
        setting_field(
            "Seconds to wait for a released site's state; after that the site moves without it."
        ),
    ] = 600.0
    leader_seconds: Annotated[
        float, setting_field("Seconds until the lease of a silent leader expires.")
    ] = 15.0
    claim_seconds: Annotated[
        float, setting_field("Seconds after which another worker may take over a claimed package.")
    ] = 300.0
    rollout_soak_seconds: Annotated[
        float,
        setting_field(
            "Seconds that a stage of a roll-out must stay healthy before the next one begins."
        ),
    ] = 3_600.0
    calibration_factor: Annotated[
        float, setting_field("A fetch this many times slower than the subnet's history counts as slow.")
    ] = 2.0
    calibration_repeats: Annotated[
        int, setting_field("Number of consecutive slow fetches before a subnet is probed again.")
    ] = 3
    calibration_rest_seconds: Annotated[
        float, setting_field("Minimum seconds between two re-probes of one subnet.")
    ] = 3_600.0
    balancing: Annotated[
        str,
        setting_field(
            "How a crawler over its daily capacity is relieved; see docs/explanation/balancing.md."
        ),
    ] = "variance"
    balancing_seconds: Annotated[
        float, setting_field("Seconds between two checks of the crawlers' loads.")
    ] = 300.0
    newcomer_probes_max: Annotated[
        int, setting_field("Maximum number of other crawlers' subnets that a new crawler probes.")
    ] = 20
    mesh_refresh_seconds: Annotated[
        float,
        setting_field("Seconds between two measurements of the round trip between a pair of hosts."),
    ] = 86_400.0
    mesh_partners_max: Annotated[
        int, setting_field("Maximum number of other hosts to which one host measures its round trip.")
    ] = 50
    nearest_per_second_max: Annotated[
        float,
        setting_field(
            "Maximum requests per second for the nearest crawler from one client, ten seconds' worth at "
            "once; 0: no limit.",
            at_least=0,
        ),
    ] = 10.0
    explanations_per_second_max: Annotated[
        float,
        setting_field(
            "Maximum explanations per second for one client, ten seconds' worth at once; 0: no limit.",
            at_least=0,
        ),
    ] = 2.0
    connections_max: Annotated[
        int, setting_field("Maximum open connections of hosts, people and programs.", at_least=1)
    ] = 4_000
    connections_per_client_max: Annotated[
        int,
        setting_field(
            "Maximum open connections from one address or IPv6 /64, trusted proxies excepted; 0: no limit.",
            at_least=0,
        ),
    ] = 200
    nearest_asks: Annotated[
        bool, setting_field("Whether /v1/nearest may probe unknown sites, within the rate limits.")
    ] = True
    state_bytes_max: Annotated[
        int, setting_field("Maximum bytes of one site's state in a hand-over.")
    ] = 256 << 20


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a coordinator process."""

    data_folder: Path
    contact: str  # of the crawl's operator; used by hosts that set none themselves
    coordinator: CoordinatorSettings
    searches_per_second_max: float  # from one client
    fetching: FetchingSettings  # for DNS look-ups of submitted sites

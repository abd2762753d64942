"""Settings of one overlay peer. The settings that all peers must share are in the network file."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ipmicra.host.settings import HostingSettings
from ipmicra.setting_fields import setting_field


class OverlaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a peer does without being asked, and its time limits."""

    follow_links: Annotated[
        bool,
        setting_field("Submit sites that crawled pages link to; false: crawl only submitted sites."),
    ] = True
    measured_max: Annotated[
        int,
        setting_field(
            "Peers that measure the round trip to a site, including those that placed it; a higher "
            "number finds nearer peers and costs more probes."
        ),
    ] = 12
    search_seconds_max: Annotated[
        float,
        setting_field("Seconds that a search waits for other peers before it reports what is missing."),
    ] = 3.0
    searched_at_once_max: Annotated[int, setting_field("Peers that one search queries in parallel.")] = (
        16
    )


class PeerSettings(HostingSettings, frozen=True, kw_only=True):
    """All settings of a running peer: it hosts a crawler, and takes part in the overlay."""

    overlay: OverlaySettings = OverlaySettings()

"""The knobs of a peer of the overlay. What all peers of a network must agree on is in its network file."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ipmicra.host.settings import HostingSettings
from ipmicra.setting_fields import setting_field


class OverlaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a peer does of its own accord, and how long it tries."""

    follow_links: Annotated[
        bool, setting_field("Submit sites that crawled pages link to; false: crawl only submitted ones.")
    ] = True
    measured_max: Annotated[
        int,
        setting_field("Peers that time a site, those that placed it included; more find nearer ones."),
    ] = 12
    search_seconds_max: Annotated[
        float, setting_field("How long a search waits for other peers before it says what is missing.")
    ] = 3.0
    searched_at_once_max: Annotated[int, setting_field("Peers that a search asks at the same time.")] = (
        16
    )


class PeerSettings(HostingSettings, frozen=True, kw_only=True):
    """All that a peer is run by: it hosts a crawler, and takes part in the overlay."""

    overlay: OverlaySettings = OverlaySettings()

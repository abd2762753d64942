"""Settings of the search engine. A higher rate lets one client use more of the machine."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ipmicra.setting_fields import setting_field


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one client may ask of the search page and its API."""

    questions_per_second_max: Annotated[
        float,
        setting_field(
            "Maximum searches per second from one client, ten seconds' worth at once; 0: no limit. "
            "More are answered with 429.",
            at_least=0,
        ),
    ] = 20.0
    trusted_proxies: Annotated[
        str,
        setting_field(
            "Addresses of proxies in front of `ipmicra search --serve` whose X-Forwarded-For header is "
            "trusted, separated by commas."
        ),
    ] = ""

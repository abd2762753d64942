"""The settings of the registry files."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ipmicra.setting_fields import setting_field


class RegistrySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where registry files come from, and how bad they may be."""

    malformed_share_max: Annotated[
        float,
        setting_field(
            "Share of malformed records above which a build is refused and the old tree stays."
        ),
    ] = 0.01
    timeout_s: Annotated[
        float,
        setting_field("Seconds without data from a registry's server before the download is aborted."),
    ] = 60.0
    attempts_max: Annotated[
        int,
        setting_field("Number of times that a broken download is resumed before it fails."),
    ] = 4
    arin_bulk_url: Annotated[
        str,
        setting_field(
            "URL of ARIN's bulk WHOIS (arin_db.txt or .xml), had by agreement with ARIN; blank: none."
        ),
    ] = ""
    lacnic_bulk_url: Annotated[
        str,
        setting_field("URL of LACNIC's bulk WHOIS, available by agreement with LACNIC; empty: none."),
    ] = ""

"""The five registries -> which public files there are, and where.

RPSL databases where they are public (RIPE NCC and APNIC split by class, AFRINIC whole), delegated-extended
statistics of all five. ARIN's and LACNIC's bulk WHOIS are handed out by agreement: their places are
settings.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from ipmicra.registry.settings import RegistrySettings

REGISTRIES = ("afrinic", "apnic", "arin", "lacnic", "ripencc")


class RemoteFile(NamedTuple):
    """A file to fetch. `checksum_suffix` added to the URL names its published checksum, if there is one."""

    registry: str
    url: str
    checksum_suffix: str = ""

    @property
    def name(self) -> str:
        return urlsplit(self.url).path.rpartition("/")[2] or "index"


def _statistics(registry: str, folder: str) -> RemoteFile:
    return RemoteFile(registry, f"{folder}/delegated-{registry}-extended-latest", ".md5")


PUBLIC_FILES = (
    RemoteFile("afrinic", "https://ftp.afrinic.net/dbase/afrinic.db.gz"),
    _statistics("afrinic", "https://ftp.afrinic.net/stats/afrinic"),
    RemoteFile("apnic", "https://ftp.apnic.net/apnic/whois/apnic.db.inetnum.gz"),
    RemoteFile("apnic", "https://ftp.apnic.net/apnic/whois/apnic.db.inet6num.gz"),
    RemoteFile("apnic", "https://ftp.apnic.net/apnic/whois/apnic.db.organisation.gz"),
    _statistics("apnic", "https://ftp.apnic.net/stats/apnic"),
    _statistics("arin", "https://ftp.arin.net/pub/stats/arin"),
    _statistics("lacnic", "https://ftp.lacnic.net/pub/stats/lacnic"),
    RemoteFile("ripencc", "https://ftp.ripe.net/ripe/dbase/split/ripe.db.inetnum.gz"),
    RemoteFile("ripencc", "https://ftp.ripe.net/ripe/dbase/split/ripe.db.inet6num.gz"),
    RemoteFile("ripencc", "https://ftp.ripe.net/ripe/dbase/split/ripe.db.organisation.gz"),
    _statistics("ripencc", "https://ftp.ripe.net/pub/stats/ripencc"),
)


def files_to_fetch(settings: RegistrySettings, registries: tuple[str, ...] = ()) -> list[RemoteFile]:
    """The public files, and the bulk files that the operator has access to; of some registries only."""
    bulk = (("arin", settings.arin_bulk_url), ("lacnic", settings.lacnic_bulk_url))
    files = [*PUBLIC_FILES, *(RemoteFile(registry, url) for registry, url in bulk if url)]
    return [file for file in files if not registries or file.registry in registries]

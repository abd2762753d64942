"""The owner's rules for lending a machine: hours, limits and own sites. The copy on the host always
wins.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.errors import OperatorFault
from ipmicra.host.limits.hours import Hours
from ipmicra.model.positions import blurred
from ipmicra.probing.settings import ProbingSettings
from ipmicra.setting_fields import setting_field

MEMORY_BYTES_LEAST = 128 << 20
DISK_BYTES_LEAST = 64 << 20
MEMORY_OF_THE_PROGRAM = 112 << 20  # before the first site is opened
MEMORY_A_SITE = 1 << 20  # an open site costs a connection and up to a page being read


class HostSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the crawler may work on this host, how much it may use, and what it keeps fresh for its owner."""

    hours: Annotated[
        str,
        setting_field("Working hours, such as 'mon-fri 22:00-06:00, sat-sun 00:00-24:00', or 'always'."),
    ] = "always"
    time_zone: Annotated[str, setting_field("Time zone of the working hours, days and months.")] = "UTC"
    download_bytes_per_second_max: Annotated[
        int,
        setting_field(
            "Maximum download rate in bytes per second, averaged over some seconds; 0 means no limit."
        ),
    ] = 0
    upload_bytes_per_second_max: Annotated[
        int,
        setting_field(
            "Maximum upload rate to the coordinator in bytes per second, averaged over some "
            "seconds; 0 means no limit."
        ),
    ] = 0
    bytes_per_day_max: Annotated[
        int, setting_field("Maximum bytes per day, both directions together; 0 means no limit.")
    ] = 0
    bytes_per_month_max: Annotated[
        int, setting_field("Maximum bytes per month, both directions together; 0 means no limit.")
    ] = 0
    cpu_share_max: Annotated[
        float,
        setting_field(
            "Maximum share of one CPU while others use the machine, averaged over some "
            "seconds; 1.0 is a whole CPU."
        ),
    ] = 0.5
    cpu_share_idle_max: Annotated[
        float,
        setting_field(
            "Maximum share of one CPU while nobody else uses the machine; 0 means the same as "
            "cpu_share_max."
        ),
    ] = 0.0
    memory_bytes_max: Annotated[
        int,
        setting_field(
            "Maximum memory of the crawler, and again of the host's own process; enforced by the kernel."
        ),
    ] = 512 << 20
    disk_bytes_max: Annotated[
        int,
        setting_field("Maximum disk space of the host's folder: known URLs, and packages not yet sent."),
    ] = 2 << 30
    connections_max: Annotated[
        int, setting_field("Maximum number of open connections to sites, including idle ones.")
    ] = 200
    position: Annotated[
        str,
        setting_field(
            "Position of the machine, latitude and longitude, such as '59.9, 10.8'; reported"
            " rounded to a tenth of a degree (11 km); empty: not reported."
        ),
    ] = ""
    sandbox: Annotated[
        Literal["auto", "always", "never"],
        setting_field(
            "Whether the installed crawler runs in a sandbox; auto: if this machine can make one, else in a "
            "process of its own; never: in the host's process."
        ),
    ] = "auto"
    silent_seconds_max: Annotated[
        float,
        setting_field(
            "A crawler that does not answer for this many seconds is ended, and started again "
            "without the page that it hung on.",
            at_least=1,
        ),
    ] = 30.0
    guards_done_without: Annotated[
        tuple[str, ...],
        setting_field(
            "Guards that dispatched code may run without on this host; `ipmicra host check` lists them."
        ),
    ] = ()
    own_sites: Annotated[
        tuple[str, ...],
        setting_field("Your own sites, such as https://example.org, that this host keeps fresh."),
    ] = ()

    def working_hours(self) -> Hours:
        return Hours.parse(self.hours, self.time_zone)

    def coordinates(self) -> tuple[float, float] | None:
        """Latitude and longitude on the grid of `model/positions.py`, if the owner reports them."""
        if not self.position.strip():
            return None
        try:
            latitude, longitude = map(float, self.position.split(","))
        except ValueError:
            latitude = longitude = math.nan
        if not (abs(latitude) <= 90 and abs(longitude) <= 180):
            raise OperatorFault(
                f"host.position = {self.position!r}: write latitude, longitude, such as '59.9, 10.8'"
            )
        return blurred((latitude, longitude))

    def sites_open_max(self) -> int:
        """Maximum number of open sites, by connections and by memory."""
        by_memory = (self.memory_bytes_max - MEMORY_OF_THE_PROGRAM) // MEMORY_A_SITE
        return max(1, min(self.connections_in_use_max(), by_memory))

    def connections_in_use_max(self) -> int:
        """Half of the connections, rounded up; the other half may be kept open for the next request."""
        return (self.connections_max + 1) // 2


class HostingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a host and the crawler on it are run by."""

    crawler: CrawlerSettings = CrawlerSettings()
    fetching: FetchingSettings = FetchingSettings()
    probing: ProbingSettings = ProbingSettings()
    host: HostSettings = HostSettings()


def checked(settings: HostSettings) -> HostSettings:
    """The same settings. Raises OperatorFault if they contradict each other or allow nothing."""
    if not settings.working_hours().spans:
        raise OperatorFault(
            "host.hours contains no working hours; to stop the crawler use `ipmicra host pause`"
        )
    settings.coordinates()
    for name, least in _LEAST.items():
        if getattr(settings, name) < least:
            raise OperatorFault(f"host.{name} = {getattr(settings, name)}: at least {least} is needed")
    day, month = settings.bytes_per_day_max, settings.bytes_per_month_max
    if day and month and day > month:
        raise OperatorFault(
            f"host.bytes_per_day_max = {day} is more than host.bytes_per_month_max = {month}: "
            "lower the first or raise the second"
        )
    idle = settings.cpu_share_idle_max
    if idle and not settings.cpu_share_max <= idle <= 64:
        raise OperatorFault(
            f"host.cpu_share_idle_max = {idle} is less than host.cpu_share_max = "
            f"{settings.cpu_share_max}: the share of an idle machine cannot be lower"
        )
    if not 0.01 <= settings.cpu_share_max <= 64:
        raise OperatorFault(f"host.cpu_share_max = {settings.cpu_share_max}: write 0.01 to 64")
    for site in settings.own_sites:
        if not site.startswith(("http://", "https://")):
            raise OperatorFault(f"host.own_sites: {site!r} is not a site; example: https://example.org")
    return settings


_LEAST = {
    "download_bytes_per_second_max": 0,
    "upload_bytes_per_second_max": 0,
    "bytes_per_day_max": 0,
    "bytes_per_month_max": 0,
    "memory_bytes_max": MEMORY_BYTES_LEAST,
    "disk_bytes_max": DISK_BYTES_LEAST,
    "connections_max": 1,
}


def describe_rules(settings: HostSettings) -> dict[str, str]:
    """The rules as text, as shown to the owner and reported to the coordinator."""
    rate = "{:,} bytes/s".format
    amount = "{:,} bytes".format
    return {
        "hours": f"{settings.hours or 'always'} ({settings.time_zone})",
        "download": _or_no_limit(settings.download_bytes_per_second_max, rate),
        "upload": _or_no_limit(settings.upload_bytes_per_second_max, rate),
        "a day": _or_no_limit(settings.bytes_per_day_max, amount),
        "a month": _or_no_limit(settings.bytes_per_month_max, amount),
        "processor": _processor(settings),
        "memory": amount(settings.memory_bytes_max),
        "disk": amount(settings.disk_bytes_max),
        "connections": str(settings.connections_max),
        "position": _position(settings),
        "own sites": " ".join(settings.own_sites) or "none",
    }


def _position(settings: HostSettings) -> str:
    """As others are told it: the coordinator shows these rules."""
    told = settings.coordinates()
    return "not told" if told is None else f"{told[0]:g}, {told[1]:g}"


def describe_maximum_usage(settings: HostSettings) -> dict[str, str]:
    """The most that the rules allow, for an owner who pays for it."""
    hours = settings.working_hours().hours_a_week()
    share = max(settings.cpu_share_max, settings.cpu_share_idle_max)
    month = settings.bytes_per_month_max or settings.bytes_per_day_max * 31
    return {
        "at work": f"{hours:g} of 168 hours a week",
        "traffic a month": f"{month / 1e9:,.1f} GB" if month else "no limit is set",
        "processor": f"{share * hours:,.0f} hours of one processor a week",
        "disk": f"{settings.disk_bytes_max / 1e9:,.1f} GB",
        "memory": f"{2 * settings.memory_bytes_max / 1e9:,.1f} GB, host and crawler together",
    }


def _processor(settings: HostSettings) -> str:
    share, idle = settings.cpu_share_max, settings.cpu_share_idle_max
    return f"{share:g} of one" + (f", {idle:g} while nobody else uses the machine" if idle else "")


def _or_no_limit(value: int, words: object) -> str:
    return words(value) if value and callable(words) else "no limit"

"""Another crawler's state of a site, in chunks -> nothing, or the reason why it is refused.

A state comes from a stranger's machine. It may speak of its own site only: a path that makes another site
of the URL, a key of another URL, or another site's measurements are refused, and so is a number that no
database holds, a clock that keeps a site from being crawled, and a robots.txt that never expires.

Invariant: reads only. The state is imported as a whole after it was checked as a whole, or not at all.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable
from typing import TypeAlias

from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.crawler.frontier.transfer import VERSION, PageRow, SiteHead, decode_chunk
from ipmicra.errors import HostFault
from ipmicra.model.urls import Site, key_of, site_of, url_at

STATE_BYTES_MAX = 1 << 30  # inflated: some five million pages
ADDRESSES_MAX = 1_000
CLOCK_SECONDS_MAX = 7 * 86_400.0  # from now
ROBOTS_SECONDS_MAX = 2 * 86_400.0  # RFC 9309, section 2.4: 24 hours; clocks of hosts differ
PATH_CHARACTERS_MAX = 8_192
INTEGER_MAX = 1 << 62

_Kinds: TypeAlias = tuple[type | tuple[type, ...], ...]
_NUMBER, _TEXT_OR_NONE, _INTEGER_OR_NONE = (int, float), (str, type(None)), (int, type(None))
_QUEUED: _Kinds = (int, int, int, int, int, int, str)  # the last is the path
_VISIT: _Kinds = (
    *(int, int, str, int, int, int, _INTEGER_OR_NONE, int, _TEXT_OR_NONE),
    *(_TEXT_OR_NONE, bytes, _NUMBER, _NUMBER, _NUMBER),
)
_QUEUED_PATH, _VISIT_PATH = 6, 2


class StateRefused(HostFault):
    """The state is damaged, or says what it must not say."""


def check_state(chunks: Iterable[bytes], site: Site, now_s: float) -> None:
    """Raises StateRefused."""
    read_bytes, has_head = 0, False
    for chunk in chunks:
        read_bytes += len(chunk)
        _demand(read_bytes <= STATE_BYTES_MAX, f"it has more than {STATE_BYTES_MAX} bytes")
        try:
            part = decode_chunk(chunk)
        except HostFault as error:
            raise StateRefused(f"the state of {site} is refused: {error}") from error
        _demand(isinstance(part, SiteHead) != has_head, "its head is not the first part")
        if isinstance(part, SiteHead):
            has_head = True
            _check_head(part, site, now_s)
        else:
            for row in part.rows:
                _check_row(row, site)
    _demand(has_head, "it is empty")


def _check_head(head: SiteHead, site: Site, now_s: float) -> None:
    _demand(head.version == VERSION, f"its format is {head.version}; this program reads {VERSION}")
    _demand(head.state.site == site, f"it is the state of {head.state.site[:100]!r}, not of {site}")
    counts = (head.state.pages_fetched, head.state.bytes_fetched, head.state.robots_status or 0)
    _demand(all(0 <= count <= INTEGER_MAX for count in counts), "a count is out of range")
    _demand(_is_before(head.state.robots_until, now_s + ROBOTS_SECONDS_MAX), "its robots.txt is too new")
    _demand(len(head.addresses) <= ADDRESSES_MAX, "it has too many addresses")
    _demand(len(head.measured) <= ADDRESSES_MAX, "it has too many measurements")
    measured = {_address_of(one, site) for one in head.measured}
    _demand(head.addresses.keys() <= measured, "it has clocks of addresses that are not the site's")
    for clock in (head.state.clock, *head.addresses.values()):
        _demand(_is_sane(clock, now_s), "a clock is too far in the future")


def _address_of(measured: FetchStatistics, site: Site) -> str:
    _demand(measured.site == site, "it has measurements of another site")
    counts = (measured.fetches, measured.round_trip_us or 0, measured.bytes_on_wire, measured.unchanged)
    _demand(all(0 <= count <= INTEGER_MAX for count in counts), "a measurement is out of range")
    _demand(math.isfinite(measured.first_byte_ms + measured.download_ms), "a measurement is no number")
    try:
        ipaddress.ip_address(measured.address)
    except ValueError as error:
        raise StateRefused("the state is refused: an address is not one") from error
    return measured.address


def _is_sane(clock: PolitenessClock, now_s: float) -> bool:
    until_s = now_s + CLOCK_SECONDS_MAX
    is_short = 0 <= clock.block_seconds <= CLOCK_SECONDS_MAX
    return is_short and _is_before(clock.next_at, until_s) and _is_before(clock.blocked_until, until_s)


def _is_before(moment_s: float, until_s: float) -> bool:
    return math.isfinite(moment_s) and 0 <= moment_s <= until_s


def _check_row(row: PageRow, site: Site) -> None:
    for values, kinds, place in ((row.queued, _QUEUED, _QUEUED_PATH), (row.visit, _VISIT, _VISIT_PATH)):
        if values is not None:
            fits = len(values) == len(kinds) and all(map(_is_value, values, kinds))
            _demand(fits, "a row of a page is out of range")
            _check_path(str(values[place]), row.key, site)


def _is_value(value: object, kind: type | tuple[type, ...]) -> bool:
    if isinstance(value, bool) or not isinstance(value, kind):
        return False
    if isinstance(value, int | float):
        return math.isfinite(value) and 0 <= value <= INTEGER_MAX
    return not isinstance(value, str | bytes) or len(value) <= PATH_CHARACTERS_MAX


def _check_path(path: str, key: int, site: Site) -> None:
    url = url_at(site, path)
    is_own = path.startswith("/") and path.isprintable() and " " not in path and site_of(url) == site
    _demand(is_own and key_of(url) == key, "a page is not the site's")


def _demand(holds: bool, reason: str) -> None:
    if not holds:
        raise StateRefused(f"the state is refused: {reason}")

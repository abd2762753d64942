"""The responses of a site -> the time at which its next request may begin.

A clock for each site and each address. Invariant: a request begins only when both clocks allow it; a rate
override may raise a site's rate and connections, but neither robots.txt nor back-off can be switched off.

Delay after an answer = max(minimum, factor × response time, robots' Crawl-delay). 429 and 503 block the
clock: as long as Retry-After says, else 60 s, doubling with each further refusal up to one day; after a
time without refusals as long as the last block, the doubling starts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Annotated

import can_ada
import msgspec

from ipmicra.model.urls import Site, name_of, port_of
from ipmicra.setting_fields import setting_field

BLOCK_SECONDS_MIN = 60.0
BLOCK_SECONDS_MAX = 86_400.0
REFUSALS = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class PolitenessPolicy:
    """The pauses and connections of one site, for its own clock and for that of its address."""

    delay_seconds_min: float = 1.0
    response_time_factor: float = 5.0
    connections: int = 1  # requests in progress at once
    requests_per_second: float | None = None  # of a granted site: paced from start to start

    def pause_seconds(self, response_seconds: float, crawl_delay_seconds: float | None = None) -> float:
        """Seconds from the end of one request to the beginning of the next."""
        asked = min(crawl_delay_seconds or 0.0, BLOCK_SECONDS_MAX)
        if self.requests_per_second is not None:
            return asked
        return max(self.delay_seconds_min, self.response_time_factor * response_seconds, asked)

    def spacing_seconds(self) -> float:
        """Seconds from the beginning of one request to the beginning of the next."""
        return 0.0 if self.requests_per_second is None else 1.0 / self.requests_per_second


class RateOverride(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A site for which the operator is responsible, with its allowed rate and connections."""

    site: str  # a name, or a name with its port
    requests_per_second: Annotated[
        float, setting_field("Requests per second, from start to start.", above=0)
    ]
    connections: Annotated[
        int, setting_field("Concurrent connections to the site and its address.", at_least=1)
    ] = 1

    def __post_init__(self) -> None:
        """Refuse an override whose site can never match: it would be shown at start and never used."""
        name = f"[{self.site}]" if self.site.count(":") > 1 and self.site[:1] != "[" else self.site
        try:
            written = can_ada.parse(f"http://{name}/").host
        except ValueError:
            written = ""
        if written != name.removesuffix(":80"):
            hint = f"; write {written!r}" if written else ""
            raise ValueError(
                f"{self.site!r} is not the name of a site, such as example.org or example.org:8080{hint}"
            )


def policy_for(site: Site, usual: PolitenessPolicy, grants: Sequence[RateOverride]) -> PolitenessPolicy:
    """The usual policy, or the operator's override for the site, by name or by name and port."""
    name, port = name_of(site), port_of(site)
    names = {name, f"{name}:{port}", f"[{name}]", f"[{name}]:{port}"}  # IPv6 is written in brackets
    for grant in grants:
        if grant.site in names:
            return replace(
                usual, connections=grant.connections, requests_per_second=grant.requests_per_second
            )
    return usual


class PolitenessClock(msgspec.Struct):
    """The time at which a site or an address may be requested again, in seconds since 1970."""

    next_at: float = 0.0
    blocked_until: float = 0.0
    block_seconds: float = 0.0  # the last block's length; 0 when forgiven

    def ready_at(self) -> float:
        return max(self.next_at, self.blocked_until)


def after_start(clock: PolitenessClock, started_at: float, policy: PolitenessPolicy) -> PolitenessClock:
    """The clock when a request has started."""
    next_at = max(clock.next_at, started_at + policy.spacing_seconds())
    return PolitenessClock(next_at, clock.blocked_until, clock.block_seconds)


def after_response(clock: PolitenessClock, ended_at: float, pause_seconds: float) -> PolitenessClock:
    """The clock after an answer that was not a refusal."""
    quiet = ended_at - clock.blocked_until
    forgiven = clock.block_seconds > 0 and quiet >= clock.block_seconds
    return PolitenessClock(
        next_at=max(clock.next_at, ended_at + pause_seconds),
        blocked_until=0.0 if forgiven else clock.blocked_until,
        block_seconds=0.0 if forgiven else clock.block_seconds,
    )


def after_refusal(clock: PolitenessClock, ended_at: float, retry_after: str | None) -> PolitenessClock:
    """The clock after a 429 or 503. A refusal of a request started before the block counts once."""
    asked = retry_after_seconds(retry_after, ended_at) if retry_after else None
    if asked is not None:
        seconds, doubling = asked, clock.block_seconds
    elif ended_at < clock.blocked_until:
        return clock
    else:
        seconds = doubling = min(max(2 * clock.block_seconds, BLOCK_SECONDS_MIN), BLOCK_SECONDS_MAX)
    until = max(clock.blocked_until, ended_at + seconds)
    return PolitenessClock(next_at=clock.next_at, blocked_until=until, block_seconds=doubling)


def retry_after_seconds(value: str, now: float) -> float | None:
    """Seconds or an HTTP date (RFC 9110, 10.2.3), between 1 s and a day; None when it is neither.

    A date without a zone, as asctime's form of it is, is UTC.
    """
    text = value.strip()
    if text.isdecimal() and text.isascii():
        seconds = float(text)
    else:
        try:
            moment = parsedate_to_datetime(text)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(seconds, 1.0), BLOCK_SECONDS_MAX)

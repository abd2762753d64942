"""A request and the caller's consent to each hop -> the hops made and where they ended.

Invariant: no hop is made without the caller's consent (robots and scope may differ from hop to hop),
none twice, and never more than `redirects_max`. The address guard runs on every hop inside the fetcher.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import can_ada
import msgspec

from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, Fetcher, FetchFailed, FetchOutcome, FetchRequest

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})


class Followed(NamedTuple):
    """Every redirect on the way, first to last, and the end of it."""

    redirects: tuple[Fetched, ...]
    outcome: FetchOutcome


async def consent_to_all(url: str) -> bool:
    return True


async def follow(
    fetcher: Fetcher,
    request: FetchRequest,
    redirects_max: int = 5,
    consents: Callable[[str], Awaitable[bool]] = consent_to_all,
) -> Followed:
    """Fetch, and go where the site points while `consents(url)` and the limit allow it."""
    redirects: list[Fetched] = []
    seen = {request.url}
    while True:
        outcome = await fetcher.fetch(request)
        target = redirect_target(outcome)
        if target is None or isinstance(outcome, FetchFailed):
            return Followed(tuple(redirects), outcome)
        redirects.append(outcome)
        refusal = await _refusal(target, seen, len(redirects), redirects_max, consents)
        if refusal is not None:
            return Followed(tuple(redirects), refusal)
        seen.add(target)
        request = msgspec.structs.replace(request, url=target, etag=None, last_modified=None)


def redirect_target(outcome: FetchOutcome) -> str | None:
    """The target of a redirect, absolute and without a fragment; None if it is not a (readable) redirect."""
    if isinstance(outcome, FetchFailed) or outcome.status not in REDIRECT_STATUSES:
        return None
    location = outcome.headers.get("location")
    if not location:
        return None
    try:
        target = can_ada.parse(outcome.url) + _as_utf_8(location)
    except ValueError:
        return None
    target.hash = ""
    return target.href


def _as_utf_8(value: str) -> str:
    """Headers are read as Latin-1; most servers that send URLs beyond ASCII send UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return value


async def _refusal(
    target: str,
    seen: set[str],
    made: int,
    redirects_max: int,
    consents: Callable[[str], Awaitable[bool]],
) -> FetchFailed | None:
    if target in seen:
        return FetchFailed(
            url=target, kind=FailureKind.REDIRECT_LOOP, detail="redirected to where it came from"
        )
    if made > redirects_max:
        detail = f"more than {redirects_max} redirects"
        return FetchFailed(url=target, kind=FailureKind.REDIRECTS_TOO_MANY, detail=detail)
    if not await consents(target):
        return FetchFailed(url=target, kind=FailureKind.REDIRECT_REFUSED, detail="not consented to")
    return None

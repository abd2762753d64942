"""Results of comparisons <-> rows: the standing of each crawler, the natural change of each site.

Invariant: a row per crawler and per compared site; a site that was not compared for `SITE_SECONDS_MAX` is
forgotten when the next one is written.
"""

from __future__ import annotations

import hashlib

import msgspec
from sqlalchemy import Connection, delete

from ipmicra.coordinator.ingest.trust import SiteChange, TrustEvidence, change_probability
from ipmicra.coordinator.store import blobs
from ipmicra.coordinator.store.sql.schema import memory_table

SITE_SECONDS_MAX = 90 * 86_400.0
_STANDING, _CHANGE = "standing ", "change "
_EVERYWHERE = _CHANGE + "everywhere"


def evidence_of(connection: Connection, crawler: str) -> TrustEvidence:
    body = blobs.read(connection, _STANDING + crawler)
    return TrustEvidence() if body is None else msgspec.json.decode(body, type=TrustEvidence)


def change_of(connection: Connection, site: str) -> SiteChange:
    return _change(connection, _name(site))


def note_comparison(
    connection: Connection, crawler: str, site: str, is_contradicted: bool, now_s: float
) -> tuple[TrustEvidence, TrustEvidence]:
    """One comparison more. Returns the standing before and after it."""
    before = evidence_of(connection, crawler)
    probability = change_probability(change_of(connection, site), _change(connection, _EVERYWHERE))
    after = before.after(site, is_contradicted, probability)
    blobs.save(connection, _STANDING + crawler, msgspec.json.encode(after), now_s)
    return before, after


def note_control(
    connection: Connection, site: str, has_changed: bool, is_random: bool, now_s: float
) -> None:
    """One control look more. Only those at pages chosen at random say something about all sites."""
    old = memory_table.c.saved_s < now_s - SITE_SECONDS_MAX
    connection.execute(delete(memory_table).where(memory_table.c.name.startswith(_CHANGE), old))
    for name in (_name(site), *([_EVERYWHERE] if is_random else [])):
        after = _change(connection, name).after(has_changed)
        blobs.save(connection, name, msgspec.json.encode(after), now_s)


def forget(connection: Connection, crawler: str) -> None:
    """The operator has looked at the case, and the crawler begins anew."""
    connection.execute(delete(memory_table).where(memory_table.c.name == _STANDING + crawler))


def _change(connection: Connection, name: str) -> SiteChange:
    body = blobs.read(connection, name)
    return SiteChange() if body is None else msgspec.json.decode(body, type=SiteChange)


def _name(site: str) -> str:
    return _CHANGE + hashlib.sha256(site.encode()).hexdigest()[:40]

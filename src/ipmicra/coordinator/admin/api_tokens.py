"""A name and scopes -> a token with which a program may use the coordinator's API; a token -> whose it is.

Invariant: only a token's digest is stored, and the token itself is shown once. A token that is unknown,
expired or revoked allows nothing; what is outside its scopes is refused. A restored backup has no tokens.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, Row, delete, select, update

from ipmicra.coordinator.store import events
from ipmicra.coordinator.store.events import EventKind
from ipmicra.coordinator.store.sql.schema import api_token_table
from ipmicra.errors import Fault, OperatorFault

DAY_SECONDS = 86_400.0
DAYS_MAX = 3_650
USED_SECONDS = 60.0  # between two notes that a token is in use
PREFIX = "ipmicra_"  # by which people and scanners of repositories recognise a token
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class TokenScope(enum.StrEnum):
    """What a token allows."""

    READ = "read"  # what only an operator sees, such as the addresses of hosts
    SUBMIT = "submit"  # pages to crawl


class ApiToken(NamedTuple):
    """A token as it is listed. The token itself is not known."""

    name: str
    scopes: list[str]
    made_s: float
    until_s: float | None
    used_s: float | None
    revoked_s: float | None

    def state(self, now_s: float) -> str:
        if self.revoked_s is not None:
            return "revoked"
        return "expired" if self.until_s is not None and self.until_s <= now_s else "valid"


class ApiTokenRefused(Fault):
    """A request without a valid token (`status` 401), or with one that does not allow it (403)."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        super().__init__(reason)


def create_token(
    connection: Connection, name: str, scopes: Iterable[TokenScope], days: int | None, now_s: float
) -> str:
    """Create a token; `days=None`: it does not expire. Only an expired or revoked one is replaced."""
    _check_name(name)
    if days is not None and not 0 < days <= DAYS_MAX:
        raise OperatorFault(f"a token is valid for 1 to {DAYS_MAX} days, not {days}")
    existing = {token.name: token for token in listed_tokens(connection)}.get(name)
    if existing is not None and existing.state(now_s) == "valid":
        raise OperatorFault(
            f"there is a valid token {name!r}; choose another name, or revoke it first: "
            f"ipmicra coordinator token revoke {name}"
        )
    token = PREFIX + secrets.token_urlsafe(32)
    granted = sorted({scope.value for scope in scopes})
    connection.execute(delete(api_token_table).where(api_token_table.c.name == name))
    connection.execute(
        api_token_table.insert().values(
            name=name,
            digest=_digest(token),
            scopes=" ".join(granted),
            made_s=now_s,
            until_s=None if days is None else now_s + days * DAY_SECONDS,
        )
    )
    events.record(connection, EventKind.TOKEN_CREATED, name, ", ".join(granted), now_s)
    return token


def listed_tokens(connection: Connection) -> list[ApiToken]:
    """All tokens by name, expired and revoked ones included."""
    rows = connection.execute(select(api_token_table).order_by(api_token_table.c.name))
    return [_token(row) for row in rows]


def revoke_token(connection: Connection, name: str, now_s: float) -> None:
    """Revoke a token, at once and for ever. Revoking it again changes nothing."""
    named = api_token_table.c.name == name
    if connection.execute(select(api_token_table.c.name).where(named)).first() is None:
        raise OperatorFault(f"there is no token {name!r}; list them: ipmicra coordinator token list")
    revoked = connection.execute(
        update(api_token_table)
        .where(named, api_token_table.c.revoked_s.is_(None))
        .values(revoked_s=now_s)
    )
    if revoked.rowcount:
        events.record(connection, EventKind.TOKEN_REVOKED, name, "", now_s)


def authorise(connection: Connection, token: str, scope: TokenScope, now_s: float) -> str:
    """The name of the token, if it allows this; notes that it was used. Raises ApiTokenRefused."""
    if not token:
        raise ApiTokenRefused(401, "this needs a token: send it as Authorization: Bearer TOKEN")
    found = _find(connection, _digest(token))
    if found is None:
        raise ApiTokenRefused(401, "the token is not known to this coordinator")
    if (state := found.state(now_s)) != "valid":
        raise ApiTokenRefused(
            401, f"the token {found.name!r} is {state}; ask the operator for a new one"
        )
    if scope not in found.scopes:
        raise ApiTokenRefused(403, f"the token {found.name!r} does not have the scope {scope.value!r}")
    if found.used_s is None or now_s - found.used_s > USED_SECONDS:
        mine = api_token_table.c.name == found.name
        connection.execute(update(api_token_table).where(mine).values(used_s=now_s))
    return found.name


def _find(connection: Connection, digest: bytes) -> ApiToken | None:
    row = connection.execute(select(api_token_table).where(api_token_table.c.digest == digest)).first()
    stored = b"" if row is None else bytes(row.digest)
    return _token(row) if row is not None and hmac.compare_digest(stored, digest) else None


def _token(row: Row[tuple[object, ...]]) -> ApiToken:
    return ApiToken(row.name, row.scopes.split(), row.made_s, row.until_s, row.used_s, row.revoked_s)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise OperatorFault(
            f"{name!r} is not a token's name: write up to 100 letters, digits, dots, dashes and underscores"
        )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()

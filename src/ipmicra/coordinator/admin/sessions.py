"""One-time links and passphrases -> sessions of operators.

Invariant: only digests of links, sessions and passphrases are stored. A link works once and for a short
time; a session ends after `SESSION_SECONDS_MAX`, or earlier if it is not used. Links are kept after use, so
that the first start can be recognised.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from sqlalchemy import ColumnElement, Connection, delete, or_, select, update

from ipmicra.coordinator.store.sql.schema import (
    admin_link_table,
    admin_passphrase_table,
    admin_session_table,
)
from ipmicra.coordinator.store.sql.upserts import put
from ipmicra.errors import OperatorFault

SESSION_COOKIE = "ipmicra_session"  # in which a browser keeps its session
LINK_SECONDS = 3_600.0
SESSION_SECONDS_MAX = 12 * 3_600.0
SESSION_SECONDS_UNUSED = 3_600.0
SEEN_SECONDS = 60.0  # between two notes that a session is in use
PASSPHRASE_CHARACTERS_MIN = 12
PASSPHRASE_CHARACTERS_MAX = 1_000
_OPERATOR = "operator"
_SCRYPT = {"n": 1 << 14, "r": 8, "p": 1}  # 16 MB and some 50 ms a try


# --- links ----------------------------------------------------------------------------------------


def create_link(connection: Connection, now_s: float) -> str:
    """Create a token with which one person can sign in once."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        admin_link_table.insert().values(digest=_digest(token), until_s=now_s + LINK_SECONDS)
    )
    return token


def create_first_link(connection: Connection, now_s: float) -> str | None:
    """Create a token, if none was ever created."""
    made = connection.execute(select(admin_link_table.c.until_s).limit(1)).first()
    return create_link(connection, now_s) if made is None else None


def is_link(connection: Connection, token: str, now_s: float) -> bool:
    """Whether the token is valid; it stays so."""
    valid = (admin_link_table.c.digest == _digest(token), admin_link_table.c.until_s > now_s)
    return connection.execute(select(admin_link_table.c.until_s).where(*valid)).first() is not None


def use_link(connection: Connection, token: str, now_s: float) -> bool:
    """Whether the token is valid; it cannot be used a second time."""
    used = connection.execute(
        update(admin_link_table)
        .where(admin_link_table.c.digest == _digest(token), admin_link_table.c.until_s > now_s)
        .values(until_s=0.0)
    )
    return bool(used.rowcount)


# --- passphrase -----------------------------------------------------------------------------------


def set_passphrase(connection: Connection, words: str) -> None:
    """Set the passphrase for signing in."""
    if not PASSPHRASE_CHARACTERS_MIN <= len(words) <= PASSPHRASE_CHARACTERS_MAX:
        raise OperatorFault(
            f"a passphrase has {PASSPHRASE_CHARACTERS_MIN} to {PASSPHRASE_CHARACTERS_MAX} characters: "
            "use several unrelated words"
        )
    salt = secrets.token_bytes(16)
    put(
        connection,
        admin_passphrase_table,
        {"name": _OPERATOR, "salt": salt, "digest": _stretch(words, salt)},
    )


def is_passphrase(connection: Connection, words: str) -> bool:
    """Whether the passphrase is correct. Takes the same time if none is set."""
    row = connection.execute(select(admin_passphrase_table)).first()
    salt, wanted = (row.salt, row.digest) if row is not None else (b"\0" * 16, b"")
    given = _stretch(words[:PASSPHRASE_CHARACTERS_MAX], salt)
    return hmac.compare_digest(given, wanted)


# --- sessions -------------------------------------------------------------------------------------


def begin_session(connection: Connection, now_s: float) -> str:
    """Begin a session and return its token; ended sessions are deleted."""
    connection.execute(delete(admin_session_table).where(_ended(now_s)))
    token = secrets.token_urlsafe(32)
    row = {"digest": _digest(token), "began_s": now_s, "seen_s": now_s}
    connection.execute(admin_session_table.insert().values(row))
    return token


def touch_session(connection: Connection, token: str, now_s: float) -> bool:
    """Whether the session is valid; records that it is in use."""
    mine = admin_session_table.c.digest == _digest(token)
    seen_s = connection.execute(
        select(admin_session_table.c.seen_s).where(mine, ~_ended(now_s))
    ).scalar()
    if seen_s is None:
        return False
    if now_s - seen_s > SEEN_SECONDS:
        connection.execute(update(admin_session_table).where(mine).values(seen_s=now_s))
    return True


def end_session(connection: Connection, token: str) -> None:
    connection.execute(delete(admin_session_table).where(admin_session_table.c.digest == _digest(token)))


def end_other_sessions(connection: Connection, token: str) -> None:
    connection.execute(delete(admin_session_table).where(admin_session_table.c.digest != _digest(token)))


def _ended(now_s: float) -> ColumnElement[bool]:
    return or_(
        admin_session_table.c.began_s <= now_s - SESSION_SECONDS_MAX,
        admin_session_table.c.seen_s <= now_s - SESSION_SECONDS_UNUSED,
    )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _stretch(words: str, salt: bytes) -> bytes:
    return hashlib.scrypt(words.encode(), salt=salt, **_SCRYPT)

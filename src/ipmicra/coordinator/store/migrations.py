"""A schema of an earlier program -> what its rows lack, filled in. New tables are there already.

Law: one step for each version, in their order, in the transaction that raises the version.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, func, insert, select

from ipmicra.coordinator.store.schema import grant, host, site


def bring_up(connection: Connection, found: int) -> None:
    """Take every step after the version that was found."""
    for version, step in sorted(_STEPS.items()):
        if version > found:
            step(connection)


def _grant_what_is_owned(connection: Connection) -> None:
    """Before version 3 nobody wrote down who was given what: who has a site was given it."""
    owned = (
        select(site.c.crawler, host.c.epoch, site.c.name, func.coalesce(site.c.delegated_s, 0.0))
        .join(host, host.c.name == site.c.crawler)
        .where(site.c.state.in_(("delegated", "releasing")))
    )
    columns = ["crawler", "lease_epoch", "site", "granted_s"]
    connection.execute(insert(grant).from_select(columns, owned))


_STEPS: dict[int, Callable[[Connection], None]] = {3: _grant_what_is_owned}

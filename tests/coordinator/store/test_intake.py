"""What hosts and linking sites bring: limits per day, places in the queue, small transactions."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, event

from ipmicra.coordinator.ingest.link_intake import LinkIntake
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import intake, sites
from ipmicra.coordinator.store.intake import FoundLink
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.model.urls import Site, Url

NOW = 1_800_000_000.0
LINKER = Site("https://linker.example")


def links(names: Iterable[str], linked_from: Site = LINKER) -> list[FoundLink]:
    return [FoundLink(Url(f"https://{name}.example/"), linked_from) for name in names]


def queue(database: Database, most: int, now_s: float = NOW) -> list[str]:
    with database.read() as connection:
        rows = sites.pending_assignment(connection, now_s, 86_400, most)
    return [row.name.removeprefix("https://").removesuffix(".example") for row in rows]


def store(database: Database, host: str, found: list[FoundLink], **limits: int) -> int:
    limited = CoordinatorSettings(**limits)  # type: ignore[arg-type] # all of these are numbers
    dropped = LinkIntake(database, limited).store(host, found, NOW)
    return dropped.of_package + dropped.of_sources


def test_an_operators_site_and_another_hosts_are_next_while_a_flood_waits(database: Database) -> None:
    flood = links(f"flood{number:04}" for number in range(900))
    assert store(database, "lima", flood) == 0
    store(database, "oslo", links(["found-by-oslo"], Site("https://other.example")))
    with database.begin() as connection:
        sites.add_links(connection, [Url("https://submitted.example/")], NOW + 1)
    assert set(queue(database, 5)) >= {"submitted", "found-by-oslo"}
    assert len(queue(database, 2_000)) == 902, "the flood is not lost"


def test_a_site_that_links_to_many_does_not_delay_the_links_of_another(database: Database) -> None:
    store(database, "lima", links(f"flood{number:03}" for number in range(100)))
    store(database, "lima", links(["modest"], Site("https://modest-linker.example")))
    assert queue(database, 101).index("modest") <= 12


def test_what_the_operator_submits_leaves_the_flood_behind(database: Database) -> None:
    store(database, "lima", links(f"flood{number:03}" for number in range(100)))
    with database.begin() as connection:
        sites.add_links(connection, [Url("https://flood099.example/page")], NOW)
    assert "flood099" in queue(database, 3)


def test_sites_that_are_tried_again_leave_room_for_others(database: Database) -> None:
    with database.begin() as connection:
        sites.add_links(connection, [Url(f"https://dead{n}.example/") for n in range(50)], NOW - 90_000)
        rows = sites.pending_assignment(connection, NOW, 86_400, 50)
        sites.mark_unreachable(connection, [(row, "silent") for row in rows], NOW - 90_000)
        sites.add_links(connection, [Url(f"https://new{n}.example/") for n in range(50)], NOW)
    found = queue(database, 8)
    assert [name[:3] for name in found] == ["new"] * 6 + ["dea"] * 2


def test_limits_of_a_day_hold_over_packages(database: Database) -> None:
    def flood(number: int, linked_from: Site = LINKER) -> list[FoundLink]:
        return links((f"p{number}-{at}" for at in range(30)), linked_from)

    limits = {"new_sites_per_site_a_day_max": 40, "new_sites_per_host_a_day_max": 50}
    assert store(database, "lima", flood(1), **limits) == 0
    assert store(database, "lima", flood(2), **limits) == 20, "of the linking site"
    elsewhere = Site("https://elsewhere.example")
    assert store(database, "lima", flood(3, elsewhere), **limits) == 20, "of the host"
    assert store(database, "oslo", flood(4, Site("https://third.example")), **limits) == 0
    assert store(database, "lima", flood(1), **limits) == 0, "what is known costs nothing"
    with database.read() as connection:
        assert sites.counts(connection) == {SiteStatus.WAITING: 80}
        assert dict(intake.dropped_links(connection, NOW))["host lima"] == 40


def test_a_flood_is_written_in_small_transactions(database: Database) -> None:
    written: list[int] = [0]

    def count(
        _connection: Connection, _cursor: object, statement: str, parameters: object, *_: object
    ) -> None:
        if statement.startswith("INSERT INTO link "):
            assert isinstance(parameters, tuple | dict)
            written[-1] += len(parameters) // 3

    event.listen(database.engine, "before_cursor_execute", count)
    event.listen(database.engine, "commit", lambda _: written.append(0))
    flood = [FoundLink(Url(f"{LINKER}x/{number}"), LINKER) for number in range(9_000)]
    assert store(database, "lima", flood, links_per_package_max=7_000) == 2_000
    assert sum(written) == 7_000
    assert max(written) <= 2_000

"""The sites that pages show, by crawler and by subnet, on both kinds of database."""

from __future__ import annotations

from pathlib import Path

from ipmicra.coordinator.views.sites import (
    DelegatedUnit,
    addresses_by_unit,
    sites_of_crawler,
    sites_of_unit,
)
from tests.web.dashboard_harness import DashboardHarness


def test_sites_are_listed_by_their_crawler_and_by_their_unit(
    database_address: str, tmp_path: Path
) -> None:
    with DashboardHarness(tmp_path, database=database_address) as scene:
        scene.join("oslo")
        scene.join("lima")
        scene.site("https://b.example", "192.0.2.1", oslo=10.0, lima=200.0)
        scene.site("https://a.example", "192.0.2.1", oslo=10.0, lima=200.0)
        scene.site("https://far.example", "198.51.100.1", oslo=200.0, lima=10.0)
        scene.submit("https://b.example/", "https://a.example/", "https://far.example/")
        scene.play()
        with scene.database.read() as connection:
            of_oslo = sites_of_crawler(connection, "oslo", 10)
            first_of_oslo = sites_of_crawler(connection, "oslo", 1)
            of_unit = sites_of_unit(connection, of_oslo[0].unit, 10)
            units = addresses_by_unit(connection)
    assert [site.name for site in of_oslo] == ["https://a.example", "https://b.example"]
    assert {(site.crawler, site.state) for site in of_oslo} == {("oslo", "delegated")}
    assert first_of_oslo == of_oslo[:1]
    assert of_unit == of_oslo
    assert units[DelegatedUnit(of_oslo[0].unit, "oslo")] == ["192.0.2.1", "192.0.2.1"]
    assert {unit.crawler for unit in units} == {"oslo", "lima"}

"""What registries would say of the generated Internet, read by the real reader."""

from __future__ import annotations

from pathlib import Path

from ipmicra.lab.loopback.layout import COUNTRIES, WebLayout
from ipmicra.lab.loopback.pages import CITIES, made_sites
from ipmicra.lab.loopback.registries import registry_text
from ipmicra.lab.registry_tree import kept_tree, opened_tree


def test_every_site_lies_in_a_network_of_its_own_in_its_country(tmp_path: Path) -> None:
    layout = WebLayout.of(made_sites(1, 36, 2))
    (tmp_path / "made-up.db").write_text(registry_text(layout))
    tree = opened_tree(kept_tree(tmp_path, tmp_path))
    smallest = {site.name: tree.smallest(address) for address, site in layout.sites.items()}
    assert len(set(smallest.values())) == len(layout.sites)
    for site in layout.sites.values():
        assert tree.country_of(smallest[site.name]) == COUNTRIES[site.city]


def test_one_organisation_is_in_every_city_and_the_others_in_one(tmp_path: Path) -> None:
    layout = WebLayout.of(made_sites(1, 36, 2))
    (tmp_path / "made-up.db").write_text(registry_text(layout))
    tree = opened_tree(kept_tree(tmp_path, tmp_path))
    cities: dict[str, set[str]] = {}
    for address, site in layout.sites.items():
        name = tree.organisation_name(tree.organisation_of(tree.smallest(address)))
        cities.setdefault(name, set()).add(site.city)
    everywhere = [name for name, found in cities.items() if found == set(CITIES)]
    assert everywhere == ["Cumulus Hosting"]
    assert all(len(found) == 1 for name, found in cities.items() if name not in everywhere)

"""The whole system in the box: a real coordinator and real hosts, sites with public addresses, real TCP."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ipmicra.hierarchy.build import build_tree
from ipmicra.lab.box.processes.system import System
from ipmicra.lab.box.session import access_log, staged
from ipmicra.lab.box.world.box_world import BoxCrawler, BoxWorld
from ipmicra.lab.box.world.generator import WorldRequest, made_world
from ipmicra.lab.box.world.web import made_web, urls_of
from ipmicra.lab.generated import generate
from ipmicra.registry.treefile import write_tree


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_sites_go_to_the_nearest_host_and_every_page_comes_home_once(
    box_allowed: None, tmp_path: Path
) -> None:
    made = generate(1)
    world = made_world(made.world, 1, WorldRequest(crawlers=2, sites=4, pages=5))
    write_tree(tmp_path / "subnets.tree", build_tree(made.allocations).tree, about={})
    urls = urls_of(made_web(world))
    with staged(world, tmp_path) as box, System(box, tmp_path, {}, tmp_path / "subnets.tree") as system:
        system.start_coordinator()
        for crawler in world.file.crawlers:
            system.join(crawler.name)
            system.start_host(crawler.name)
        system.until(lambda: sum(host.awake for host in system.status().hosts) == 2, 60)
        system.submit(f"http://{site.name}/" for site in world.file.sites)
        system.until(lambda: urls <= set(system.integrated()), 120)
        assert sorted(urls) == system.integrated()
        owners = system.owners(site.name for site in world.file.sites)
    assert owners == {site.name: nearest(world, site.name).name for site in world.file.sites}
    asked = Counter((line.site, line.path) for line in access_log(tmp_path) if line.method == "GET")
    assert not [page for page, times in asked.items() if times > 1], "one polite visitor a site"
    by_site = {line.site: line.by for line in access_log(tmp_path) if line.path == "/"}
    assert by_site == {site.name: nearest(world, site.name).addresses[0] for site in world.file.sites}


def nearest(world: BoxWorld, name: str) -> BoxCrawler:
    site = next(site for site in world.file.sites if site.name == name)
    return min(world.file.crawlers, key=lambda crawler: world.crawler_to_site_ms(crawler, site))

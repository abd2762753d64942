"""Coordinator and hosts as real processes in a made-up Internet: the ordinary day."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.coordinator.world import World, made_up_world


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_host_joins_works_and_leaves_by_the_documented_commands(
    tmp_path: Path, database_address: str
) -> None:
    with made_up_world(tmp_path, database_address, sites=3, pages=6) as world:
        world.coordinator.start()
        world.join("lima")
        world.start_host("lima")
        world.coordinator.rows("submit", world.roots[0])  # the others are found by links
        found = linked_from(world, world.roots[0])
        world.until(lambda: set(world.integrated()) >= found, 120)
        assert len(world.integrated()) == len(set(world.integrated()))
        told = world.client.explain(world.roots[0])
        assert told.nearest.crawler == "lima"
        assert [name for name, _, _ in told.probes] == ["lima"]
        asked = [(line.site, line.path) for line in world.web.log if line.method == "GET"]
        pages = [line for line in asked if line[1] != "/robots.txt"]
        assert len(pages) == len(set(pages)), "no page was fetched twice"
        world.hosts["lima"].send_signal(signal.SIGTERM)
        assert world.hosts["lima"].wait(60) == 0
        world.host_command("lima", "leave", "--yes")
        assert "left" in world.coordinator.rows("hosts")
        assert world.coordinator.stop() == 0


def linked_from(world: World, root: str) -> set[str]:
    """All pages of the sites that can be reached by links from a root."""
    by_name = {site.name: site for site in world.web.sites.values()}
    reached, waiting = set[str](), [root]
    while waiting:
        name = waiting.pop().split("/")[2].split(":")[0]
        if name not in reached:
            reached.add(name)
            html = "".join(page.html for page in by_name[name].pages.values())
            waiting += [f"http://{other}/" for other in by_name if f"http://{other}:" in html]
    return {url for url in world.urls if url.split("/")[2].split(":")[0] in reached}

"""The state of a site that another host left: what no row of ours has is refused, and nothing of it stays."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ipmicra.crawler.frontier import DiscoveredUrl, Frontier
from ipmicra.errors import HostFault
from ipmicra.model.urls import Site, url_at

SITE = Site("http://a.example")


def chunks_of(folder: Path) -> list[bytes]:
    frontier = Frontier(folder / "honest")
    frontier.add([DiscoveredUrl(url_at(SITE, "/page"), 0, 0)])
    chunks = list(frontier.export_site(SITE))
    frontier.close()
    return chunks


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (6, "@other.example/x"),  # would be fetched from another site, without its robots.txt
        (6, "/" + "x" * 20_000),
        (0, 1 << 63),
        (0, "soon"),
        (3, None),
    ],
)
def test_a_poisoned_row_is_refused_and_leaves_nothing(
    tmp_path: Path, column: int, value: object
) -> None:
    head, pages = chunks_of(tmp_path)
    poisoned = msgspec.msgpack.decode(pages)
    poisoned["rows"][0][1][column] = value
    frontier = Frontier(tmp_path / "other")
    try:
        with pytest.raises(HostFault, match="importing a site"):
            frontier.import_site([head, msgspec.msgpack.encode(poisoned)])
        assert frontier.site(SITE) is None
        assert frontier.import_site([head, pages]) == SITE
    finally:
        frontier.close()


def test_a_row_with_columns_too_many_is_refused(tmp_path: Path) -> None:
    head, pages = chunks_of(tmp_path)
    poisoned = msgspec.msgpack.decode(pages)
    poisoned["rows"][0][1].append(1)
    frontier = Frontier(tmp_path / "other")
    try:
        with pytest.raises(HostFault, match="importing a site"):
            frontier.import_site([head, msgspec.msgpack.encode(poisoned)])
    finally:
        frontier.close()

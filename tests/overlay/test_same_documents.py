"""The coordinator's system and the overlay crawl the same web: the same documents are in their indexes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ipmicra.model.search import SearchAnswer, SearchRequest
from ipmicra.overlay.live import rpc_client
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.search.tantivy.index import TantivyIndex
from tests.coordinator.world import World, made_up_world
from tests.overlay.crawling_peers import EVERYTHING, SECRET, OverlayHarness

QUESTIONS = ("bread OR oven", "crane", '"Bakery of Lima"', "lang:en")
Documents = dict[str, tuple[str, str, str]]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_same_sites_give_the_same_documents(tmp_path: Path) -> None:
    with made_up_world(tmp_path, f"sqlite:///{tmp_path}/state.sqlite", sites=4, pages=6) as world:
        by_coordinator = crawled_by_the_coordinator(world)
        by_overlay = asyncio.run(crawled_by_the_overlay(world, tmp_path / "peers"))
    assert set(by_coordinator["lang:en"]) == world.urls
    assert by_overlay == by_coordinator


def crawled_by_the_coordinator(world: World) -> dict[str, Documents]:
    world.coordinator.start()
    world.join("lima")
    world.start_host("lima")
    world.coordinator.rows("submit", *world.roots)
    index = TantivyIndex(world.folder / "home" / "index")
    try:

        def found() -> bool:
            index.reload()
            return set(documents(index.search(EVERYTHING))) == world.urls

        world.until(found, 180)
        return {text: documents(index.search(every(text))) for text in QUESTIONS}
    finally:
        index.close()


async def crawled_by_the_overlay(world: World, folder: Path) -> dict[str, Documents]:
    harness = OverlayHarness(folder, world.web)
    try:
        harness.add("a", (-60.0, -60.0, 0.0))
        await harness.wait_until_joined()
        harness.add("b", (60.0, 60.0, 0.0), "a")
        await harness.wait_until_joined()
        await harness.submit_all("b")
        await harness.wait_until(lambda: harness.found_anywhere() == harness.urls, 120)
        return {
            text: documents(
                (await rpc_client.search(every(text), harness.address("a"), FrameCodec(SECRET))).answer
            )
            for text in QUESTIONS
        }
    finally:
        await harness.close()


def every(text: str) -> SearchRequest:
    return SearchRequest(text=text, limit=100, per_site=0)


def documents(answer: SearchAnswer) -> Documents:
    """What a searcher sees of each page, but for who saw it when and how it scored."""
    return {hit.url: (hit.title, hit.snippet, hit.language) for hit in answer.hits}

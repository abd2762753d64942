"""The tree walked from the whole Internet down, a page explained, and both without a tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ipmicra.testing.strategy_referee import tree_of
from ipmicra.web.pages.tree import CHILDREN_SHOWN
from tests.web.dashboard_harness import DashboardHarness

NEAR, FAR = "https://near.example", "https://far.example"
TREE = tree_of(
    ("192.0.2.0/24", "Fjord Net", "NO"),
    ("192.0.2.128/25", "Small Fjord", "NO"),
    ("198.51.100.0/24", "Andes <b>Net</b>", "PE"),
    *((f"10.{number}.0.0/16", f"Filler {number}", "JP") for number in range(CHILDREN_SHOWN + 20)),
)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardHarness]:
    """Read by all, changed by none."""
    with crawled(tmp_path_factory.mktemp("walked")) as scene:
        yield scene


@contextmanager
def crawled(folder: Path) -> Iterator[DashboardHarness]:
    with DashboardHarness(folder, TREE) as scene:
        scene.join("oslo", position=[59.9, 10.8])
        scene.join("lima")
        scene.site(NEAR, "192.0.2.1", oslo=10.0, lima=200.0)
        scene.site(FAR, "198.51.100.1", oslo=210.0, lima=20.0)
        scene.submit(f"{NEAR}/", f"{FAR}/")
        scene.play()
        yield scene


def test_from_the_root_what_is_delegated_comes_first_and_the_rest_is_a_link(
    walked: DashboardHarness,
) -> None:
    page = walked.get("/tree").text
    assert "The whole Internet, IPv4 (0.0.0.0/0)" in page
    assert page.index("192.0.2.0/24") < page.index("10.0.0.0/16")
    assert "22 more" in page
    rest = walked.get("/tree/children?at=0.0.0.0/0&first=50").text
    assert rest.count("<li>") == 22
    assert "more" not in rest


def test_a_level_unfolds_in_place_and_without_scripts_by_a_link(walked: DashboardHarness) -> None:
    page = walked.get("/tree").text
    assert 'hx-get="/tree/children?at=192.0.2.0/24" hx-trigger="toggle once"' in page
    assert '<a href="/tree?at=192.0.2.0/24">Go in</a>' in page
    level = walked.get("/tree/children?at=192.0.2.0/24").text
    assert "<html" not in level
    assert "192.0.2.128/25" in level
    assert "Small Fjord" in level


def test_a_subnet_says_whose_it_is_and_why(walked: DashboardHarness) -> None:
    page = walked.get("/tree?at=192.0.2.0/24").text
    assert "Fjord Net" in page
    assert '<a href="/hosts/oslo">oslo</a>' in page
    assert "a round trip below the threshold was found" in page
    assert 'href="/explain?url=https://near.example"' in page
    assert page.index("The whole Internet") < page.index("Registered"), "the way down to it"


def test_an_address_leads_to_the_subnet_that_holds_it(walked: DashboardHarness) -> None:
    assert "Small Fjord" in walked.get("/tree?at=192.0.2.200").text


@pytest.mark.parametrize("at", ["192.0.2.0/26", "nonsense", "<script>", "10.0.0.0/99", "::/999"])
def test_what_the_tree_does_not_have_is_said(walked: DashboardHarness, at: str) -> None:
    for path in ("/tree", "/tree/children"):
        answer = walked.get(path, params={"at": at})
        assert answer.status_code == 400
        assert "<script>" not in answer.text


def test_names_from_registries_are_no_markup(walked: DashboardHarness) -> None:
    for path in ("/tree", "/tree?at=198.51.100.0/24", f"/explain?url={FAR}"):
        text = walked.get(path).text
        assert "Andes &lt;b&gt;Net" in text
        assert "<b>Net" not in text


def test_a_new_decision_is_seen(tmp_path: Path) -> None:
    with crawled(tmp_path) as scene:
        assert "Not as a whole" in scene.get("/tree?at=10.1.0.0/16").text
        scene.site("https://new.example", "10.1.0.1", oslo=5.0, lima=300.0)
        scene.submit("https://new.example/")
        scene.play()
        scene.look()
        assert '<a href="/hosts/oslo">oslo</a>' in scene.get("/tree?at=10.1.0.0/16").text


def test_explain_shows_path_probes_and_what_others_would_choose(walked: DashboardHarness) -> None:
    page = walked.get(f"/explain?url={NEAR}/some/page").text
    assert page.index('href="/tree?at=0.0.0.0/0"') < page.rindex('href="/tree?at=192.0.2.0/24"')
    assert "10.0 ms" in page
    assert "hash" in page
    assert "Crawlers that are present" in page


@pytest.mark.parametrize(
    "url", ["ftp://x", "javascript:alert(1)", "http://", "<script>alert(1)</script>"]
)
def test_what_is_no_page_cannot_be_explained(walked: DashboardHarness, url: str) -> None:
    answer = walked.get("/explain", params={"url": url})
    assert answer.status_code == 400
    assert "<script>alert" not in answer.text


def test_a_site_nobody_asked_about_is_said_to_be_unknown(walked: DashboardHarness) -> None:
    page = walked.get("/explain?url=https://unheard.example/").text
    assert "this site is not known yet" in page


def test_without_a_tree_addresses_are_listed_with_advice(scene: DashboardHarness) -> None:
    scene.join("oslo")
    scene.site(NEAR, "192.0.2.1", oslo=10.0)
    scene.submit(f"{NEAR}/")
    scene.play()
    page = scene.get("/tree").text
    assert "ipmicra registry build" in page
    assert "192.0.2.1" in page
    assert scene.get("/tree/children?at=0.0.0.0/0").status_code == 400


def test_the_map_places_hosts_by_their_owners_and_subnets_by_their_country(
    walked: DashboardHarness,
) -> None:
    atlas = walked.get("/map.json").json()
    crawlers = {spot["name"]: spot for spot in atlas["crawlers"]}
    assert crawlers["oslo"]["at"] == [59.9, 10.8]
    assert crawlers["lima"]["at"] is None, "its address is registered nowhere"
    subnets = {spot["range"]: spot for spot in atlas["subnets"]}
    assert subnets["192.0.2.0/24"]["crawler"] == "oslo"
    assert subnets["192.0.2.0/24"]["country"] == "NO"
    assert 57 < subnets["192.0.2.0/24"]["at"][0] < 72
    page = walked.get("/map").text
    assert "59.9° N, 10.8° E" in page
    assert "Peru" in page

"""The whole story in a real Chromium: sign in, register a host, watch it join, delegate, crawl, and search.

A coordinator, a host and a made-up web as real processes and real HTTP. On the way: a hostile page does
not run, no request leaves the origin, and axe finds no serious fault on any page, light or dark.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from ipmicra.lab.loopback.layout import WebLayout
from ipmicra.lab.loopback.pages import MadePage
from ipmicra.lab.loopback.registries import registry_text
from tests.coordinator.world import World, made_up_world
from tests.web.browser import PATIENCE_MS, Scheme, Visitor, chromium

HOSTILE = "<script>window.hacked = 1; alert(1)</script><img src=x onerror='window.hacked = 2'>"
HOSTILE_PAGE = (
    "<!doctype html><html lang=en><title>{title}</title><body><h1>{title}</h1>"
    "<p>The zugzwang of the harbour, and {title} beside it.</p>"
)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Four sites of five pages and a hostile one; the tree is what registries would say of them."""
    with made_up_world(tmp_path, f"sqlite:///{tmp_path / 'rows.sqlite'}", sites=4, pages=5) as made:
        harbour = next(site for site in made.web.sites.values() if site.topic == "harbour")
        escaped = HOSTILE.replace("<", "&lt;")
        harbour.pages["/evil"] = MadePage("/evil", HOSTILE_PAGE.format(title=escaped))
        front = harbour.pages["/"]
        linked = front.html.replace("<ul>", '<ul><li><a href="/evil">evil</a></li>', 1)
        harbour.pages["/"] = MadePage("/", linked)
        registry = tmp_path / "registry.txt"
        registry.write_text(registry_text(WebLayout(dict(made.web.sites))))
        building = made.coordinator.command("registry", "build", str(registry))
        subprocess.run(building, check=True, capture_output=True)
        made.coordinator.start()
        yield made


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_whole_story_in_a_real_browser(world: World) -> None:
    with chromium() as browser:
        person = Visitor(browser, world.coordinator.address)
        sign_in(person, world)
        command = register(person, "lima")
        watch_it_join(person, world, command)
        submit(person, world)
        watch_the_crawl(person, world)
        search_and_find(person)
        meet_the_hostile_page(person)
        look_around(person, world)
        assert_no_serious_faults(person, world)
        administer(person)
        sign_out(person)
        assert person.strangers() == set(), "no request leaves the origin"
        assert person.complaints == []
        person.close()
        read_without_scripts(Visitor(browser, world.coordinator.address, scripts=False))
    world.hosts["lima"].wait(30)  # it was retired
    assert world.coordinator.stop() == 0, "with no page that keeps it"


def sign_in(person: Visitor, world: World) -> None:
    """By the link that the first start has printed."""
    told = re.search(r"Administer at (\S+)/enter#(\S+)", world.coordinator.log.read_text())
    assert told is not None, "the first start prints a link"
    page = person.go(f"/enter#{told[2]}")
    assert told[2] not in page.url, "the token does not stay in the address bar"
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/admin$"))
    assert not any(told[2] in url for url in person.asked if "#" not in url)


def register(person: Visitor, name: str) -> str:
    page = person.page
    page.get_by_label("Name").fill(name)
    page.get_by_label("Contact").fill("owner@example.org")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", name=f"{name} is registered")).to_be_visible()
    return page.locator("#join").inner_text()


def watch_it_join(person: Visitor, world: World, command: str) -> None:
    """The very command that the page shows, then `host run`; its page sees it without being reloaded."""
    page = person.page
    page.get_by_role("link", name="Watch lima join").click()
    expect(page.locator("#state")).to_contain_text("registered")
    program, *words = shlex.split(command)
    assert program == "ipmicra"
    line = [sys.executable, "-m", "ipmicra", *world.options("lima"), *words, "--yes"]
    subprocess.run(line, check=True, capture_output=True, timeout=60)
    world.start_host("lima")
    expect(page.locator("#state .tag")).to_have_text("awake")


def submit(person: Visitor, world: World) -> None:
    page = person.go("/admin")
    page.get_by_label("URLs, one per line").fill("\n".join(world.roots))
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status")).to_contain_text("4 submitted, 4 of them new")


def watch_the_crawl(person: Visitor, world: World) -> None:
    """Live: the page is opened once and not reloaded."""
    page = person.go("/")
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    expect(page.locator("[data-figure=sites]")).to_have_text("4")
    expect(page.locator("[data-figure=pages]")).to_have_text(str(len(world.urls)))
    expect(page.locator(".chart canvas")).to_have_count(2)


def search_and_find(person: Visitor) -> None:
    page = person.page
    box = page.get_by_role("searchbox", name="Search the crawl")
    box.fill("lighthouse tide")
    box.press("Enter")
    expect(page.locator(".hits li").first).to_contain_text("Harbour")
    expect(page.locator(".hits li").first).to_contain_text("by lima")
    expect(page.locator(".hits mark").first).to_be_visible()


def meet_the_hostile_page(person: Visitor) -> None:
    page = person.go("/search?q=zugzwang")
    expect(page.get_by_role("heading", name="<script>window.hacked")).to_be_visible()
    assert page.evaluate("() => window.hacked") is None
    assert page.locator(".hits script, .hits img").count() == 0


def look_around(person: Visitor, world: World) -> None:
    page = person.go(f"/explain?url={world.roots[0]}")
    expect(page.get_by_role("heading", name="Location in the tree")).to_be_visible()
    expect(page.locator(".trail li").first).to_contain_text("0.0.0.0/0")
    page = person.go("/tree")
    page.locator(".tree summary").first.click()
    expect(page.locator(".tree details[open] ul .tag.own").first).to_have_text("lima")
    page = person.go("/map")
    expect(page.locator("#map .land")).to_be_visible()
    expect(page.locator("#map .subnet")).to_have_count(4)
    page = person.go("/packages")
    expect(page.get_by_role("cell", name="integrated").first).to_be_visible()


def assert_no_serious_faults(person: Visitor, world: World) -> None:
    paths = ["/", "/search", "/search?q=lighthouse", "/map", "/tree", "/tree?at=127.16.0.0/16", "/hosts",
             "/hosts/lima", "/packages", "/errors", "/admin", f"/explain?url={world.roots[0]}"]  # fmt: skip
    for path in paths:
        page = person.go(path)
        unfold(page)
        for scheme in SCHEMES:
            assert person.faults(scheme) == [], f"{path} in {scheme}"


def unfold(page: Page) -> None:
    """What is folded away must be without fault, too."""
    for summary in page.locator("main > * > details > summary, .panel > details > summary").all():
        summary.click()


def administer(person: Visitor) -> None:
    page = person.go("/hosts/lima")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state .tag")).to_have_text("asleep")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state .tag")).to_have_text("awake")
    page.get_by_text("Retire …").click()
    page.get_by_role("button", name="Retire").click()
    expect(page.locator("#state .tag")).not_to_have_text("awake")


def sign_out(person: Visitor) -> None:
    page = person.go("/admin")
    page.get_by_role("button", name="Sign out").click()
    person.go("/admin")
    expect(page).to_have_url(re.compile("/enter$"))
    for scheme in SCHEMES:
        assert person.faults(scheme) == []


def read_without_scripts(person: Visitor) -> None:
    page = person.go("/")
    expect(page.locator("[data-figure=sites]")).not_to_have_text("")
    page.get_by_role("searchbox", name="Search the crawl").fill("lighthouse")
    page.keyboard.press("Enter")
    expect(page.locator(".hits li").first).to_contain_text("lighthouse")
    person.go("/tree")
    page.locator(".tree summary").first.click()
    page.get_by_role("link", name="Go in").first.click()
    expect(page.locator(".trail")).to_be_visible()
    assert person.strangers() == set()
    person.close()

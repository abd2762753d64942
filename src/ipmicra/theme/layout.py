"""A title and a body -> the whole document: head, navigation, search box, foot.

Invariant: no I/O. A page works without scripts; a page names the scripts that it uses.
"""

from __future__ import annotations

from typing import NamedTuple

import htpy as h

from ipmicra import __version__
from ipmicra.theme.assets import asset_address

HTMX_SETTINGS = (
    '{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,'
    '"historyCacheSize":0}'
)


class NavigationItem(NamedTuple):
    """One link of the navigation."""

    address: str
    name: str


class Navigation(NamedTuple):
    """The links that every page has; `search` is the target of the box in the header."""

    places: tuple[NavigationItem, ...] = ()
    aside: tuple[NavigationItem, ...] = ()
    foot: tuple[NavigationItem, ...] = ()
    home: str = "/"
    search: str = "/search"


NOWHERE_ELSE = Navigation()


def document(
    title: str,
    body: h.Node,
    *,
    here: str = "",
    navigation: Navigation = NOWHERE_ELSE,
    scripts: tuple[str, ...] = (),
    styles: tuple[str, ...] = (),
    with_search: bool = True,
) -> str:
    """The document as text."""
    sheets = ("style.css", *styles)
    head = h.head[
        h.meta(charset="utf-8"),
        h.meta(name="viewport", content="width=device-width, initial-scale=1"),
        h.meta(name="color-scheme", content="light dark"),
        h.meta(name="htmx-config", content=HTMX_SETTINGS) if "htmx.min.js" in scripts else None,
        h.title[f"{title} · ipmicra"],
        h.link(rel="icon", type="image/svg+xml", href=asset_address("mark.svg")),
        (h.link(rel="stylesheet", href=asset_address(name)) for name in sheets),
        h.link(
            rel="search",
            href="/opensearch.xml",
            title="ipmicra",
            type="application/opensearchdescription+xml",
        ),
        (h.script(src=asset_address(name), defer=True) for name in scripts),
    ]
    page = h.html(lang="en")[
        head,
        h.body[
            h.a(".skip", href="#main")["To the content"],
            _header(here, navigation, with_search),
            h.main("#main", tabindex="-1")[body],
            _footer(navigation),
        ],
    ]
    return str(page)


def _header(here: str, navigation: Navigation, with_search: bool) -> h.Element:
    return h.header(".top")[
        h.a(".brand", href=navigation.home)["ipmicra"],
        _links("Main", navigation.places, here) if navigation.places else None,
        _search_box(navigation.search) if with_search else h.span(".stretch"),
        _links("Operator", navigation.aside, here) if navigation.aside else None,
    ]


def _links(label: str, places: tuple[NavigationItem, ...], here: str) -> h.Element:
    return h.nav(aria_label=label)[
        (
            h.a(href=place.address, aria_current="page" if place.address == here else None)[place.name]
            for place in places
        )
    ]


def _search_box(address: str) -> h.Element:
    return h.form(".finder", action=address, role="search")[
        h.input(
            type="search",
            name="q",
            maxlength="1000",
            placeholder="Search",
            aria_label="Search the crawl",
        )
    ]


def _footer(navigation: Navigation) -> h.Element:
    links = (h.a(href=place.address)[place.name] for place in navigation.foot)
    return h.footer(".bottom")[h.span[f"ipmicra {__version__}"], links]


def safe_address(url: str) -> str:
    """Only addresses that a browser fetches; nothing that it would run."""
    return url if url.startswith(("http://", "https://", "/")) else "#"

"""Page bodies -> responses with the navigation that every page has."""

from __future__ import annotations

import htpy as h
from litestar import MediaType, Response

from ipmicra.theme.layout import Navigation, NavigationItem, document
from ipmicra.theme.policy import HEADERS

NAVIGATION = Navigation(
    places=(
        NavigationItem("/", "Overview"),
        NavigationItem("/search", "Search"),
        NavigationItem("/map", "Map"),
        NavigationItem("/tree", "Tree"),
        NavigationItem("/hosts", "Hosts"),
        NavigationItem("/packages", "Packages"),
        NavigationItem("/errors", "Errors"),
    ),
    aside=(NavigationItem("/admin", "Administer"),),
    foot=(
        NavigationItem("/v1/status", "Status as JSON"),
        NavigationItem("/metrics", "Metrics"),
        NavigationItem("/schema/openapi.json", "OpenAPI"),
    ),
)
NO_STORE = {"Cache-Control": "no-store"}


def page(
    title: str,
    body: h.Node,
    *,
    here: str = "",
    scripts: tuple[str, ...] = (),
    styles: tuple[str, ...] = (),
    status: int = 200,
) -> Response[str]:
    """A whole document, not to be cached. An error page has the same security policy as a page."""
    text = document(title, body, here=here, navigation=NAVIGATION, scripts=scripts, styles=styles)
    return Response(text, media_type=MediaType.HTML, status_code=status, headers=HEADERS | NO_STORE)


def fragment(body: h.Node) -> Response[str]:
    """A piece of a page, for htmx."""
    text = str(h.fragment[body])
    return Response(text, media_type=MediaType.HTML, headers=HEADERS | NO_STORE)

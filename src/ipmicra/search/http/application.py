"""An index -> a web server: the search page, a JSON API, an OpenSearch description.

Law: reading only. Every response carries a policy that forbids scripts and other origins. Packages that
come home while it runs are taken in by a thread of its own and found soon after.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeAlias

import uvicorn
from litestar import HttpMethod, Litestar, MediaType, Response, route
from litestar import Request as HttpRequest
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig, ResponseSpec
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.response.base import ASGIResponse

from ipmicra import __version__
from ipmicra.errors import Fault
from ipmicra.model.search import SearchAnswer
from ipmicra.net.head_requests import HeadRequests
from ipmicra.net.listener import listening_socket
from ipmicra.search.contract import SearchIndex
from ipmicra.search.factory import INDEX_FOLDER, open_index
from ipmicra.search.http import pages, responses
from ipmicra.search.http.fast_path import SearchFastPath
from ipmicra.search.http.parameters import BadParameter, SearchOperation
from ipmicra.search.spool_ingest import integrate_all, waiting_packages
from ipmicra.theme.assets import serve_asset
from ipmicra.theme.layout import NOWHERE_ELSE, Navigation
from ipmicra.theme.policy import HEADERS, RESPONSE_HEADERS

_METHODS = (HttpMethod.GET, HttpMethod.HEAD)  # the server keeps the body of an answer to HEAD to itself
_ANSWERS = {
    200: ResponseSpec(
        SearchAnswer,
        generate_examples=False,
        description="Results. `partial` says that a cap was reached, and `remarks` which: the question was "
        "cut, or pages beyond a depth were not looked at.",
    ),
    400: ResponseSpec(
        BadParameter,
        generate_examples=False,
        description="A parameter is out of bounds, unknown, or there twice; `detail` says what to write.",
    ),
}
_AnyRequest: TypeAlias = HttpRequest[None, None, State]


def search_pages(index: SearchIndex, navigation: Navigation) -> list[HTTPRouteHandler]:
    """The search page and its description, over an index that somebody else closes."""

    @route(responses.PAGE, http_method=_METHODS, include_in_schema=False, sync_to_thread=False)
    def search(request: _AnyRequest) -> ASGIResponse:
        return _whole(responses.page(index, navigation, _given(request)), MediaType.HTML)

    @route("/opensearch.xml", http_method=_METHODS, include_in_schema=False, sync_to_thread=False)
    def description(request: _AnyRequest) -> Response[bytes]:
        text = pages.open_search_description(f"{request.base_url}search")
        return Response(text.encode(), media_type="application/opensearchdescription+xml")

    @route(pages.KEPT, http_method=_METHODS, include_in_schema=False, sync_to_thread=False)
    def kept(request: _AnyRequest) -> ASGIResponse:
        return _whole(responses.kept(index, navigation, _given(request)), MediaType.HTML)

    @route(pages.HELP, http_method=_METHODS, include_in_schema=False, sync_to_thread=False)
    def syntax() -> ASGIResponse:
        return _whole(pages.help_page(navigation).encode(), MediaType.HTML)

    return [search, kept, syntax, description]


def search_api(index: SearchIndex) -> HTTPRouteHandler:
    """The same answers as JSON."""

    @route(
        responses.API,
        http_method=_METHODS,
        tags=["search"],
        sync_to_thread=False,
        summary="Pages that answer a question, the best first",
        operation_class=SearchOperation,
        responses=_ANSWERS,
    )
    def api(request: _AnyRequest) -> ASGIResponse:
        return _whole(responses.found(index, _given(request)), MediaType.JSON)

    return api


def _given(request: _AnyRequest) -> responses.SearchContext:
    return list(request.query_params.multi_items())


def _whole(body: bytes, media_type: MediaType) -> ASGIResponse:
    return ASGIResponse(body=body, media_type=media_type, headers=HEADERS)


def application(index: SearchIndex) -> Litestar:
    """The search engine alone, over an index that somebody else closes."""

    @route(
        "/",
        http_method=_METHODS,
        media_type=MediaType.HTML,
        include_in_schema=False,
        sync_to_thread=False,
    )
    def first() -> str:
        return pages.empty_page(index.page_count(), NOWHERE_ELSE)

    handlers = [first, serve_asset, search_api(index), *search_pages(index, NOWHERE_ELSE)]
    described = OpenAPIConfig(
        title="ipmicra search", version=__version__, render_plugins=[JsonRenderPlugin()]
    )
    return Litestar(handlers, openapi_config=described, response_headers=RESPONSE_HEADERS)


def serve(
    data_folder: Path,
    address: str,
    port: int,
    complain: Callable[[str], None],
    pause_s: float,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Answer until interrupted; look for packages every `pause_s` seconds.

    `started` is called when the port is ours.
    """
    with (
        closing(listening_socket(address, port)) as listener,
        closing(open_index(data_folder / INDEX_FOLDER)) as index,
    ):
        started()
        stop = threading.Event()
        intake = threading.Thread(target=_keep_fresh, args=(data_folder, index, stop, complain, pause_s))
        intake.start()
        try:
            answering(index, listener)
        finally:
            stop.set()
            intake.join()


def answering(index: SearchIndex, listener: socket.socket) -> None:
    """Answer from an index as it is, until interrupted."""
    straight = SearchFastPath(index, NOWHERE_ELSE, application(index))
    server = uvicorn.Server(
        uvicorn.Config(HeadRequests(straight), log_level="warning", access_log=False)
    )
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


def _keep_fresh(
    data_folder: Path,
    index: SearchIndex,
    stop: threading.Event,
    complain: Callable[[str], None],
    pause_s: float,
) -> None:
    while not stop.is_set():
        try:
            _take_in(data_folder, complain)
            index.reload()
        except Fault as fault:
            complain(str(fault))
        stop.wait(pause_s)


def _take_in(data_folder: Path, complain: Callable[[str], None]) -> None:
    writing = open_index(data_folder / INDEX_FOLDER, writable=True)
    try:
        for reason in integrate_all(writing, waiting_packages(data_folder), data_folder).refused:
            complain(f"a package was refused and kept aside: {reason}")
    finally:
        writing.close()

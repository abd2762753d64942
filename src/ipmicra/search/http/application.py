"""An index -> a web server: the search page, a JSON API, an OpenSearch description.

Invariant: reading only. Every response carries a policy that forbids scripts and other origins. Packages
that arrive while it runs are integrated by a separate thread and found soon after.
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
from ipmicra.model.struct_types import build_struct_types
from ipmicra.net.bounded_pool import BoundedPool, PoolBusy
from ipmicra.net.head_requests import HeadRequests
from ipmicra.net.http_server import BoundedServer, ConnectionLimits, names_in
from ipmicra.net.listener import listening_socket
from ipmicra.net.rate_limit import RateLimited
from ipmicra.search.contract import SearchIndex
from ipmicra.search.factory import INDEX_FOLDER, open_index
from ipmicra.search.http import pages, responses
from ipmicra.search.http.fast_path import BUSY, RETRY_SECONDS, SearchFastPath
from ipmicra.search.http.parameters import BadParameter, SearchOperation
from ipmicra.search.recovery import open_or_set_aside
from ipmicra.search.settings import SearchSettings
from ipmicra.search.spool_ingest import integrate_all, waiting_packages
from ipmicra.theme.assets import serve_asset
from ipmicra.theme.layout import NOWHERE_ELSE, Navigation
from ipmicra.theme.policy import HEADERS, RESPONSE_HEADERS

QUESTION_THREADS = 4
QUESTIONS_WAITING_MAX = 200  # about a tenth of a second's work
QUESTION_PATHS = (responses.API, responses.PAGE, pages.KEPT)
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


def search_pages(
    index: SearchIndex, navigation: Navigation, questions: BoundedPool
) -> list[HTTPRouteHandler]:
    """The search page and its description, over an index and threads that the caller closes."""

    @route(responses.PAGE, http_method=_METHODS, include_in_schema=False)
    async def search(request: _AnyRequest) -> ASGIResponse:
        body = await questions.run(responses.page, index, navigation, _given(request))
        return _whole(body, MediaType.HTML)

    @route("/opensearch.xml", http_method=_METHODS, include_in_schema=False, sync_to_thread=False)
    def description(request: _AnyRequest) -> Response[bytes]:
        text = pages.open_search_description(f"{request.base_url}search")
        return Response(text.encode(), media_type="application/opensearchdescription+xml")

    @route(pages.KEPT, http_method=_METHODS, include_in_schema=False)
    async def show_kept(request: _AnyRequest) -> ASGIResponse:
        body = await questions.run(responses.kept, index, navigation, _given(request))
        return _whole(body, MediaType.HTML)

    @route(pages.HELP, http_method=_METHODS, include_in_schema=False, sync_to_thread=False)
    def syntax() -> ASGIResponse:
        return _whole(pages.help_page(navigation).encode(), MediaType.HTML)

    return [search, show_kept, syntax, description]


def search_api(index: SearchIndex, questions: BoundedPool) -> HTTPRouteHandler:
    """The same answers as JSON."""

    @route(
        responses.API,
        http_method=_METHODS,
        tags=["search"],
        summary="Pages that answer a question, the best first",
        operation_class=SearchOperation,
        responses=_ANSWERS,
    )
    async def api(request: _AnyRequest) -> ASGIResponse:
        return _whole(await questions.run(responses.search_json, index, _given(request)), MediaType.JSON)

    return api


def _given(request: _AnyRequest) -> responses.SearchContext:
    return list(request.query_params.multi_items())


def _whole(body: bytes, media_type: MediaType) -> ASGIResponse:
    return ASGIResponse(body=body, media_type=media_type, headers=HEADERS)


def question_pool() -> BoundedPool:
    """Threads that answer searches; an answer takes milliseconds, so few may wait."""
    return BoundedPool("questions", QUESTION_THREADS, QUESTIONS_WAITING_MAX)


def too_busy(_: _AnyRequest, __: PoolBusy) -> Response[str]:
    """What a searcher hears when too many others wait."""
    headers = {"retry-after": str(RETRY_SECONDS)}
    return Response(f"{BUSY}\n", status_code=503, media_type=MediaType.TEXT, headers=headers)


def application(index: SearchIndex, questions: BoundedPool) -> Litestar:
    """The search engine alone, over an index and threads that the caller closes."""

    @route(
        "/",
        http_method=_METHODS,
        media_type=MediaType.HTML,
        include_in_schema=False,
        sync_to_thread=False,
    )
    def first() -> str:
        return pages.empty_page(index.page_count(), NOWHERE_ELSE)

    handlers = [
        first,
        serve_asset,
        search_api(index, questions),
        *search_pages(index, NOWHERE_ELSE, questions),
    ]
    described = OpenAPIConfig(
        title="ipmicra search", version=__version__, render_plugins=[JsonRenderPlugin()]
    )
    return Litestar(
        handlers,
        openapi_config=described,
        response_headers=RESPONSE_HEADERS,
        exception_handlers={PoolBusy: too_busy},
    )


def serve(
    data_folder: Path,
    address: str,
    port: int,
    complain: Callable[[str], None],
    pause_s: float,
    settings: SearchSettings,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Answer until interrupted; look for packages every `pause_s` seconds.

    `started` is called when the port is ours.
    """
    build_struct_types()
    damage = open_or_set_aside(data_folder / INDEX_FOLDER)
    if damage is not None:
        complain(f"{damage}. It is made anew from the packages")
    with (
        closing(listening_socket(address, port)) as listener,
        closing(open_index(data_folder / INDEX_FOLDER)) as index,
    ):
        started()
        stop = threading.Event()
        intake = threading.Thread(target=_keep_fresh, args=(data_folder, index, stop, complain, pause_s))
        intake.start()
        try:
            serve_requests(index, listener, settings)
        finally:
            stop.set()
            intake.join()


def serve_requests(index: SearchIndex, listener: socket.socket, settings: SearchSettings) -> None:
    """Answer from an index as it is, until interrupted."""
    with closing(question_pool()) as questions:
        straight = SearchFastPath(index, NOWHERE_ELSE, application(index, questions), questions)
        rates = dict.fromkeys(QUESTION_PATHS, settings.questions_per_second_max)
        config = uvicorn.Config(
            HeadRequests(RateLimited(straight, rates)),
            log_level="warning",
            access_log=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies or None,
        )
        server = BoundedServer(
            config, ConnectionLimits(unlimited_clients=names_in(settings.trusted_proxies))
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

"""The coordinator's context and index -> all pages, served together with its API."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from litestar import Response, Router, get
from litestar.handlers import HTTPRouteHandler
from litestar.types import ControllerRouterHandler

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.views.status import latest_events
from ipmicra.protocol.coordinator_api import EventView
from ipmicra.search.factory import open_index
from ipmicra.search.http.application import search_api, search_pages
from ipmicra.theme.assets import serve_asset
from ipmicra.theme.policy import RESPONSE_HEADERS
from ipmicra.web.error_pages import REFUSALS, error_page
from ipmicra.web.live import Live
from ipmicra.web.login import entering_handlers
from ipmicra.web.navigation import NAVIGATION
from ipmicra.web.pages.admin import admin_handlers
from ipmicra.web.pages.errors import error_handlers
from ipmicra.web.pages.explanation import explain_handlers
from ipmicra.web.pages.hosts import host_handlers
from ipmicra.web.pages.map import MapPages
from ipmicra.web.pages.overview import overview_page
from ipmicra.web.pages.packages import package_handlers
from ipmicra.web.pages.tree_pages import TreePages
from ipmicra.web.sampler import Sampler
from ipmicra.web.session import SessionGuard

_log = logging.getLogger(__name__)
RELOAD_SECONDS = 2.0  # until integrated pages are found


class Pages:
    """Served and worked by the coordinator's service; see its `Beside`."""

    def __init__(self, context: CoordinatorContext, index_folder: Path) -> None:
        self._context = context
        self._index = open_index(index_folder)
        context.index_figures = lambda: (self._index.page_count(), _size_bytes(index_folder))
        self.sampler = Sampler(context, self._index.page_count)
        self.live = Live(self.sampler)
        self._gate = SessionGuard(context)
        self.handlers: list[ControllerRouterHandler] = [
            Router("/", route_handlers=self._data(), response_headers=RESPONSE_HEADERS),
            Router(
                "/",
                route_handlers=self._all(),
                response_headers=RESPONSE_HEADERS,
                exception_handlers=REFUSALS,
            ),
        ]

    def error_page(self, status: int, detail: str) -> Response[str]:
        return error_page(status, detail)

    async def work(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.sampler.work())
            tasks.create_task(self._keep_fresh())

    def stop(self) -> None:
        self.sampler.close()

    def close(self) -> None:
        self._index.close()

    def _data(self) -> list[HTTPRouteHandler]:
        """Routes for programs and scripts: errors are reported as JSON."""
        return [serve_asset, search_api(self._index, self._context.questions), *self.live.handlers()]

    def _all(self) -> list[HTTPRouteHandler]:
        return [
            *search_pages(self._index, NAVIGATION, self._context.questions),
            self._overview(),
            *entering_handlers(self._context, self._gate),
            *admin_handlers(self._context, self._gate),
            *host_handlers(self._context, self._gate),
            *package_handlers(self._context),
            *error_handlers(self._context),
            *explain_handlers(self._context),
            *TreePages(self._context, self.sampler).handlers(),
            *MapPages(self._context, self.sampler).handlers(),
        ]

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        """See what was integrated. An index that cannot be read now is looked at again later."""
        try:
            self._index.reload()
        except Exception as error:
            _log.error("cannot read the index", extra={"why": str(error)})

    def _overview(self) -> HTTPRouteHandler:
        context, sampler = self._context, self.sampler

        @get("/", include_in_schema=False)
        async def overview() -> Response[str]:
            sample = await sampler.now()
            events = await context.run_in_thread(_happened, context)
            return overview_page(sample, list(sampler.history), events, context.clock())

        return overview


def _happened(context: CoordinatorContext) -> list[EventView]:
    with context.database.read() as connection:
        return latest_events(connection)


def _size_bytes(folder: Path) -> int:
    """Files that a merge removes while we count are ignored."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.stat().st_size
    return size

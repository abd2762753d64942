"""Settings -> a coordinator that runs until it is stopped.

Three tasks run side by side: the web server, the leader's loop (while this replica is the leader) and the
integrator (while packages wait). Invariant: a stop ends the long polls at once, lets running requests
finish, and gives up the leader lease; a failure of the leader or the integrator is logged and tried
again, and never ends the process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import uvicorn
from litestar import Response
from litestar.types import ControllerRouterHandler

from ipmicra.coordinator.api.application import application
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.bundles import rollout_orders
from ipmicra.coordinator.folder import (
    bundles_folder,
    database_address,
    make_data_folder,
    package_store,
)
from ipmicra.coordinator.ingest.reindex import note_damage
from ipmicra.coordinator.ingest.worker import IntegrationWorker
from ipmicra.coordinator.leader.loop import LeaderLoop
from ipmicra.coordinator.leader.site_resolver import SiteResolver
from ipmicra.coordinator.metrics import LEADER_FAILURES, LEADER_ROUND, timed
from ipmicra.coordinator.settings import ServiceSettings
from ipmicra.coordinator.store import orders
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.delegation.subnets import NoSubnets, SubnetLookup
from ipmicra.model.struct_types import build_struct_types
from ipmicra.net.head_requests import HeadRequests
from ipmicra.net.http_server import BoundedServer, ConnectionLimits, names_in
from ipmicra.net.listener import listening_socket
from ipmicra.net.rate_limit import RateLimited
from ipmicra.registry.folder import tree_file
from ipmicra.registry.treefile import open_tree
from ipmicra.search.factory import INDEX_FOLDER
from ipmicra.search.http.application import QUESTION_PATHS
from ipmicra.search.recovery import open_or_set_aside

ROUND_SECONDS = 0.25  # between two rounds of the delegator, unless something happens before
NOTIFY_SECONDS = 0.25  # between two looks for orders that wait to be fetched
AFTER_FAILURE_SECONDS = 5.0
ROLLOUT_SECONDS = 2.0  # between two looks at the roll-out of new code
SHUTDOWN_SECONDS = 20

_log = logging.getLogger(__name__)


def subnets(data_folder: Path) -> SubnetLookup:
    """The tree of the data folder, or none."""
    path = tree_file(data_folder)
    if path.is_file():
        return open_tree(path).tree
    _log.warning("no tree of subnets: every address is delegated separately", extra={"path": str(path)})
    return NoSubnets()


class ServedPages(Protocol):
    """The pages for people, served with the API, and their background work."""

    @property
    def handlers(self) -> Sequence[ControllerRouterHandler]: ...

    def error_page(self, status: int, detail: str) -> Response[str]:
        """The page for a browser if nothing else fits."""
        ...

    async def work(self) -> None:
        """The background work, until it is cancelled."""

    def stop(self) -> None:
        """End open responses, so that the process can stop."""

    def close(self) -> None: ...


def run(
    settings: ServiceSettings,
    address: str,
    port: int,
    started: Callable[[CoordinatorContext], None],
    make_pages: Callable[[CoordinatorContext], ServedPages],
) -> None:
    """Serve until SIGTERM or Ctrl-C. `started` is called when requests are accepted."""
    make_data_folder(settings.data_folder)
    build_struct_types()
    with (
        closing(listening_socket(address, port, "--listen")) as listener,
        closing(_context(settings)) as context,
        closing(_with_an_index(context, settings, make_pages)) as pages,
        _workers(context, settings),
    ):
        asyncio.run(_serve(context, pages, listener, started))


def _with_an_index(
    context: CoordinatorContext,
    settings: ServiceSettings,
    make_pages: Callable[[CoordinatorContext], ServedPages],
) -> ServedPages:
    """The pages, over an index that can be read: a damaged one is set aside, and made anew later."""
    damage = open_or_set_aside(settings.data_folder / INDEX_FOLDER)
    if damage is not None and settings.coordinator.integrates:
        note_damage(context.database, damage, context.clock())
    return make_pages(context)


def _context(settings: ServiceSettings) -> CoordinatorContext:
    database = Database(database_address(settings.coordinator.database, settings.data_folder))
    try:
        return CoordinatorContext(
            database=database,
            store=package_store(settings.coordinator.packages, settings.data_folder),
            tree=subnets(settings.data_folder),
            settings=settings.coordinator,
            name=f"{socket.gethostname()}-{os.getpid()}",
            bundles=bundles_folder(settings.data_folder),
            spool_folder=settings.data_folder,
            contact=settings.contact,
            searches_per_second_max=settings.searches_per_second_max,
        )
    except BaseException:
        database.close()
        raise


@contextmanager
def _workers(context: CoordinatorContext, settings: ServiceSettings) -> Iterator[None]:
    resolver = SiteResolver(settings.fetching, on_ended=context.leader_wakeup.set)
    leader_loop = LeaderLoop(
        context.database,
        context.tree,
        context.settings,
        resolver,
        context.name,
        seed=time.time_ns(),
    )
    context.is_leader = lambda: leader_loop.is_leader
    stop = threading.Event()
    threads = [
        threading.Thread(target=_lead, args=(leader_loop, context, stop), name="delegator"),
        threading.Thread(target=_roll_out, args=(context, stop), name="roll-out"),
    ]
    if context.settings.integrates:
        worker = _worker(context, settings.data_folder / INDEX_FOLDER)
        threads.append(threading.Thread(target=worker.run, args=(stop,), name="integrator"))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        context.leader_wakeup.set()
        for thread in threads:
            thread.join()
        resolver.close()


def _worker(context: CoordinatorContext, index_folder: Path) -> IntegrationWorker:
    return IntegrationWorker(
        context.database,
        context.store,
        index_folder,
        context.name,
        context.settings,
        context.clock,
        may_work=context.is_leader,
        on_integrated=context.leader_wakeup.set,
    )


def _lead(leader_loop: LeaderLoop, context: CoordinatorContext, stop: threading.Event) -> None:
    while not stop.is_set():
        context.leader_wakeup.clear()
        try:
            with timed(LEADER_ROUND):
                leader_loop.tick(context.clock())
            context.leader_wakeup.wait(ROUND_SECONDS)
        except Exception:
            LEADER_FAILURES.inc()
            _log.exception("a round of the leader failed; it starts again")
            stop.wait(AFTER_FAILURE_SECONDS)
    with suppress(Exception):
        leader_loop.resign(context.clock())


def _roll_out(context: CoordinatorContext, stop: threading.Event) -> None:
    while not stop.wait(ROLLOUT_SECONDS):
        try:
            if context.is_leader():
                with context.database.begin() as connection:
                    rollout_orders.advance(
                        connection, context.clock(), context.settings.rollout_soak_seconds
                    )
        except Exception as error:
            _log.error("cannot look at the roll-out", extra={"why": str(error)})


class _Server(BoundedServer):
    """Signals are ours: they also end the long polls."""

    def capture_signals(self) -> nullcontext[None]:  # type: ignore[override] # a generator there
        return nullcontext()


async def _serve(
    context: CoordinatorContext,
    pages: ServedPages,
    listener: socket.socket,
    started: Callable[[CoordinatorContext], None],
) -> None:
    proxies = context.settings.trusted_proxies
    server = _Server(
        uvicorn.Config(
            HeadRequests(
                RateLimited(application(context, pages.handlers, pages.error_page), _rates(context))
            ),
            log_config=None,
            access_log=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies or None,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ),
        ConnectionLimits(
            connections_max=context.settings.connections_max,
            per_client_max=context.settings.connections_per_client_max,
            unlimited_clients=names_in(proxies),
        ),
    )

    def stop() -> None:
        server.should_exit = True
        context.poll_notifier.close()
        pages.stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    async with asyncio.TaskGroup() as tasks:
        notifying = tasks.create_task(_notify_polls(context))
        announcing = tasks.create_task(_announce(server, partial(started, context)))
        working = tasks.create_task(pages.work())
        try:
            await server.serve(sockets=[listener])
        finally:
            notifying.cancel()
            announcing.cancel()
            working.cancel()


def _rates(context: CoordinatorContext) -> dict[str, float]:
    """What one client may ask per second, by path."""
    settings = context.settings
    return {
        **dict.fromkeys(QUESTION_PATHS, context.searches_per_second_max),
        **dict.fromkeys(("/v1/explain", "/explain"), settings.explanations_per_second_max),
        "/v1/nearest": settings.nearest_per_second_max,
    }


async def _announce(server: _Server, started: Callable[[], None]) -> None:
    while not server.started:
        await asyncio.sleep(0.02)
    started()


async def _notify_polls(context: CoordinatorContext) -> None:
    while True:
        await asyncio.sleep(NOTIFY_SECONDS)
        if len(context.poll_notifier):
            try:
                context.poll_notifier.notify(await context.run_in_thread(_hosts_with_unfetched, context))
            except Exception as error:
                _log.error("cannot look for orders", extra={"why": str(error)})


def _hosts_with_unfetched(context: CoordinatorContext) -> set[str]:
    with context.database.read() as connection:
        return orders.hosts_with_unfetched(connection)

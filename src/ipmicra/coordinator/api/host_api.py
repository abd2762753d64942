"""Requests of hosts -> rows: enrolment, orders, reports, packages, hand-overs.

Invariant: the host begins every exchange and signs it, except the enrolment, which uses a one-time token. The
response is sent after the commit.
"""

from __future__ import annotations

import logging
from typing import Annotated

from litestar import Response, Router, get, post, put
from litestar.params import FromPath, QueryParameter

from ipmicra.carrier.package import UnpackCaps, digest_of
from ipmicra.coordinator.admin import join_quota
from ipmicra.coordinator.api.authentication import (
    HttpRequest,
    answer,
    authenticate,
    caller,
    check_signature,
    read,
    signed_path,
)
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.api.request_body import ReceivedBody, is_small, receive_body
from ipmicra.coordinator.assignment import heartbeats
from ipmicra.coordinator.metrics import PACKAGE_BYTES, PACKAGES_RECEIVED
from ipmicra.coordinator.store import events, handovers, hosts, orders, packages
from ipmicra.coordinator.store.hosts import HostRefused, HostState
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.model.ids import LeaseEpoch, SiteEpoch
from ipmicra.protocol.host_messages import (
    PROTOCOL,
    Ack,
    Enrolled,
    Enrolment,
    Heartbeat,
    Order,
    Orders,
)
from ipmicra.protocol.signing import RequestSignature

PUBLIC_KEY_BYTES = 32
NO_BODY = digest_of(b"")
SMALL_BODY_BYTES_MAX = 4 << 20

_log = logging.getLogger(__name__)
_Wait = Annotated[float, QueryParameter(name="wait", ge=0, le=3600)]
_Epoch = Annotated[int, QueryParameter(name="epoch", ge=0, lt=1 << 62)]
_Digest = Annotated[str, QueryParameter(name="digest", pattern="^[0-9a-f]{64}$")]
_SiteName = Annotated[str, QueryParameter(name="site", max_length=300)]


def host_router(context: CoordinatorContext) -> Router:
    """The routes under /v1/host."""
    state_bytes_max = context.settings.state_bytes_max

    @post("/enrol", status_code=200, request_max_body_size=SMALL_BODY_BYTES_MAX)
    async def enrol(request: HttpRequest) -> Response[bytes]:
        enrolment = read(await request.body(), Enrolment)
        return answer(await context.run_in_thread(_enrol, context, enrolment, caller(request)))

    @post("/orders", status_code=200, request_max_body_size=SMALL_BODY_BYTES_MAX)
    async def ask_for_orders(request: HttpRequest, wait: _Wait = 0.0) -> Response[bytes]:
        body = await _read_body(context, request, "orders")
        host, ready = await context.run_in_thread(_begin_poll, context, request, body, wait <= 0)
        if ready is not None:
            return answer(ready)
        event = context.poll_notifier.subscribe(host)
        try:
            if not await context.run_in_thread(_has_unfetched, context, host):
                await context.poll_notifier.wait(event, min(wait, context.settings.poll_seconds_max))
        finally:
            context.poll_notifier.unsubscribe(host, event)
        return answer(await context.run_in_thread(_orders, context, host))

    @post("/report", status_code=200, request_max_body_size=SMALL_BODY_BYTES_MAX)
    async def report(request: HttpRequest) -> Response[bytes]:
        body = await _read_body(context, request, "reports")
        ack = await context.run_in_thread(_report, context, request, body)
        context.leader_wakeup.set()
        return answer(ack)

    @put(
        "/packages/{sequence:int}",
        status_code=200,
        request_max_body_size=UnpackCaps().package_bytes_max,
    )
    async def keep_package(
        request: HttpRequest, sequence: FromPath[int], digest: _Digest, epoch: _Epoch
    ) -> Response[bytes]:
        body = await _read_body(context, request, "packages", digest)
        return answer(
            await context.run_in_thread(
                _keep_package, context, request, sequence, digest, LeaseEpoch(epoch), body
            )
        )

    @put("/states", status_code=200, request_max_body_size=state_bytes_max)
    async def leave_state(request: HttpRequest, site: _SiteName, epoch: _Epoch) -> Response[bytes]:
        body = await _read_body(context, request, "packages")
        return answer(
            await context.run_in_thread(_leave_state, context, request, site, SiteEpoch(epoch), body)
        )

    @get("/states")
    async def fetch_state(request: HttpRequest, site: _SiteName) -> Response[bytes]:
        state = await context.run_in_thread(_fetch_state, context, request, site)
        media_type = "application/octet-stream"
        return Response(state or b"", media_type=media_type, status_code=204 if state is None else 200)

    @post("/leave", status_code=200, request_max_body_size=SMALL_BODY_BYTES_MAX)
    async def leave(request: HttpRequest) -> Response[bytes]:
        body = await _read_body(context, request, "reports")
        ack = await context.run_in_thread(_leave, context, request, body)
        context.leader_wakeup.set()
        return answer(ack)

    handlers = [enrol, ask_for_orders, report, keep_package, leave_state, fetch_state, leave]
    return Router("/v1/host", route_handlers=handlers, tags=["hosts"])


async def _read_body(
    context: CoordinatorContext, request: HttpRequest, channel: str, digest: str = ""
) -> ReceivedBody:
    """The body, after the headers were found to be an enrolled host's. Raises HostRefused."""
    claim = check_signature(request, channel)
    announced = claim.digest or digest or None
    if not is_small(request):
        await context.run_in_thread(_verify_signature, context, request, claim, announced)
    body = await receive_body(request, context.spool_folder)
    if announced is not None and body.digest != announced:
        raise HostRefused("digest", "the body does not match the digest that was signed")
    return body


def _verify_signature(
    context: CoordinatorContext, request: HttpRequest, claim: RequestSignature, digest: str | None
) -> None:
    path, now_s = signed_path(request), context.clock()
    with context.database.read() as connection:
        hosts.verify_signature(connection, claim, request.method, path, digest, now_s)


def _enrol(context: CoordinatorContext, enrolment: Enrolment, address: str) -> Enrolled:
    if len(enrolment.public_key) != PUBLIC_KEY_BYTES:
        raise HostRefused("malformed", f"an Ed25519 key has {PUBLIC_KEY_BYTES} bytes")
    now_s = context.clock()
    with context.database.begin() as connection:
        refusal = join_quota.refusal(connection, address, context.settings, context.tree)
        if refusal is not None:
            raise HostRefused("crowded", f"{refusal}; ask the operator to let more of them in")
        name = hosts.enrol(connection, enrolment.token, enrolment.public_key, address, now_s)
        events.record(connection, events.EventKind.HOST_ENROLLED, name, f"from {address}", now_s)
    _log.info("a host enrolled", extra={"host": name, "address": address})
    return Enrolled(host=name, server_time_ms=int(now_s * 1000), contact=context.contact)


def _begin_poll(
    context: CoordinatorContext, request: HttpRequest, body: ReceivedBody, at_once: bool
) -> tuple[str, Orders | None]:
    """The host, and its orders if it does not have to wait for them."""
    now_s = context.clock()
    with context.database.begin() as connection:
        host = authenticate(connection, request, "orders", body.digest, now_s).name
        epoch = hosts.renew_lease(connection, host, now_s, context.settings.lease_seconds)
        if not at_once and not orders.has_unfetched(connection, host):
            return host, None
        open_orders = orders.open_orders(connection, host, now_s)
    return host, _orders_message(context, open_orders, LeaseEpoch(epoch), now_s)


def _has_unfetched(context: CoordinatorContext, host: str) -> bool:
    with context.database.read() as connection:
        return orders.has_unfetched(connection, host)


def _orders(context: CoordinatorContext, name: str) -> Orders:
    """After the wait: the host may have been revoked in the meantime. The wait does not renew its lease."""
    now_s = context.clock()
    with context.database.begin() as connection:
        host = hosts.host_named(connection, name)
        if host is None or host.state is not HostState.ENROLLED:
            raise HostRefused("not-enrolled", f"the host {name!r} is not enrolled any more")
        open_orders = orders.open_orders(connection, name, now_s)
    return _orders_message(context, open_orders, host.epoch, now_s)


def _report(context: CoordinatorContext, request: HttpRequest, body: ReceivedBody) -> Ack:
    heartbeat = read(body.data, Heartbeat)
    now_s = context.clock()
    with context.database.begin() as connection:
        host = authenticate(connection, request, "reports", body.digest, now_s).name
        epoch = hosts.renew_lease(connection, host, now_s, context.settings.lease_seconds)
        hosts.set_address(connection, host, caller(request))
        revokes = context.settings.revokes_liars
        unneeded = heartbeats.apply_heartbeat(connection, host, heartbeat, now_s, revokes)
    for digest in unneeded:
        context.store.discard(digest)
    return _ack(context, LeaseEpoch(epoch), now_s)


def _keep_package(
    context: CoordinatorContext,
    request: HttpRequest,
    sequence: FromPath[int],
    digest: str,
    epoch: LeaseEpoch,
    body: ReceivedBody,
) -> Ack:
    now_s = context.clock()
    with context.database.begin() as connection:
        host = authenticate(connection, request, "packages", body.digest, now_s)
    arrival = PackageArrival(host.name, sequence, digest, epoch, body.data)
    if packages.receive(context.database, context.store, arrival, now_s):
        PACKAGES_RECEIVED.inc()
        PACKAGE_BYTES.inc(len(body.data))
    return _ack(context, host.epoch, now_s)


def _leave_state(
    context: CoordinatorContext, request: HttpRequest, site: str, epoch: SiteEpoch, body: ReceivedBody
) -> Ack:
    now_s = context.clock()
    with context.database.begin() as connection:
        host = authenticate(connection, request, "packages", body.digest, now_s)
    handovers.save_state(context.database, context.store, host.name, site, epoch, body.data, now_s)
    return _ack(context, host.epoch, now_s)


def _fetch_state(context: CoordinatorContext, request: HttpRequest, site: str) -> bytes | None:
    now_s = context.clock()
    with context.database.begin() as connection:
        host = authenticate(connection, request, "packages", NO_BODY, now_s)
    return handovers.fetch_state(context.database, context.store, host.name, site)


def _leave(context: CoordinatorContext, request: HttpRequest, body: ReceivedBody) -> Ack:
    now_s = context.clock()
    with context.database.begin() as connection:
        host = authenticate(connection, request, "reports", body.digest, now_s)
        hosts.end_host(connection, host.name, HostState.LEFT)
        events.record(connection, events.EventKind.HOST_LEFT, host.name, "by its owner", now_s)
    return _ack(context, host.epoch, now_s)


def _ack(context: CoordinatorContext, epoch: LeaseEpoch, now_s: float) -> Ack:
    return Ack(
        server_time_ms=int(now_s * 1000),
        epoch=epoch,
        lease_s=context.settings.lease_seconds,
        protocol=PROTOCOL,
    )


def _orders_message(
    context: CoordinatorContext, open_orders: list[Order], epoch: LeaseEpoch, now_s: float
) -> Orders:
    return Orders(
        orders=tuple(open_orders),
        server_time_ms=int(now_s * 1000),
        epoch=epoch,
        lease_s=context.settings.lease_seconds,
        protocol=PROTOCOL,
    )

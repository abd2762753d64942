"""Orders that a host does not know: refused one by one, reported with their kind, and the others done."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from ipmicra.model.ids import LeaseEpoch
from ipmicra.protocol.host_messages import (
    FIRST_ORDER_KINDS,
    ORDER_KINDS,
    PROTOCOL,
    Ack,
    OrderBody,
    Orders,
    Pause,
    ProbeTargets,
    read_orders,
)
from tests.host.host_harness import command, host_settings, join, living
from tests.host.scripted_coordinator import ScriptedCoordinator


def offered(*bodies: object) -> bytes:
    orders = [{"number": number, "body": body} for number, body in enumerate(bodies, 1)]
    return msgspec.msgpack.encode(
        {"orders": orders, "server_time_ms": 1, "epoch": 7, "lease_s": 60.0, "protocol": 99}
    )


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"type": "future", "pages": 3}, "future"),
        ({"type": "probe"}, "probe"),  # without its targets
        ({"pages": 3}, ""),
        ("what", ""),
    ],
)
def test_an_order_that_cannot_be_read_does_not_hide_the_others(body: object, kind: str) -> None:
    read = read_orders(offered({"type": "pause", "reason": "a"}, body, {"type": "probe", "targets": []}))
    assert [(order.number, order.body) for order in read.readable.orders] == [
        (1, Pause(reason="a")),
        (3, ProbeTargets(targets=())),
    ]
    assert [(order.number, order.kind) for order in read.unknown] == [(2, kind)]
    assert (read.readable.epoch, read.readable.lease_s, read.readable.protocol) == (7, 60.0, 99)


def test_an_answer_that_is_no_orders_at_all_is_an_error() -> None:
    for data in (b"", b"\xc1", msgspec.msgpack.encode({"orders": []}), msgspec.msgpack.encode([1])):
        with pytest.raises(msgspec.MsgspecError):
            read_orders(data)


def test_the_kinds_are_those_of_the_union_and_the_first_ones_stay() -> None:
    assert len(ORDER_KINDS) == len(get_args(OrderBody))
    assert set(ORDER_KINDS) >= FIRST_ORDER_KINDS


def test_a_host_of_protocol_1_reads_an_acknowledgement_as_orders_without_any() -> None:
    ack = msgspec.msgpack.encode(Ack(server_time_ms=1, epoch=LeaseEpoch(7), lease_s=60.0))
    assert msgspec.msgpack.decode(ack, type=Orders).orders == ()


def test_a_host_refuses_what_it_does_not_know_and_does_the_rest(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            future = home.give_raw(type="clear-cache", site="http://a.example")
            pause = home.give(Pause(reason="a test"))
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: {future, pause} <= home.done.keys(), seconds=10)
            refused = home.done[future]
            assert home.done[pause].done
            assert (refused.done, refused.unknown_kind) == (False, "clear-cache")
            assert "clear-cache" in refused.detail
            said = home.heartbeats[-1]
            assert (said.protocol, said.order_kinds) == (PROTOCOL, ORDER_KINDS)
            log = json.loads(command(tmp_path, "host", "log", "--json").output)
            assert "clear-cache" in json.dumps(log), "the owner can see it"

    asyncio.run(story())

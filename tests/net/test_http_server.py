"""A web server that strangers cannot use up: half-sent requests, silent readers, too many connections."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import uvicorn

from ipmicra.net.bounded_pool import BoundedPool, PoolBusy
from ipmicra.net.http_server import BoundedServer, ConnectionLimits, client_key
from ipmicra.net.listener import listening_socket
from ipmicra.net.rate_limit import CLIENTS_MAX, ClientRates

QUICK = ConnectionLimits(
    connections_max=60,
    per_client_max=20,
    header_seconds_max=0.5,
    body_seconds_max=0.5,
    body_bytes_per_second_min=1_000_000,
    write_seconds_max=0.5,
)
Application = Callable[[Any, Any, Any], Awaitable[None]]


async def read_and_answer(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole body, and answers with megabytes where that is asked."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    body = b"x" * (64 << 20 if scope["path"] == "/large" else 2)
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


class _QuietServer(BoundedServer):
    def install_signal_handlers(self) -> None: ...


@contextmanager
def serving(limits: ConnectionLimits, application: Application = read_and_answer) -> Iterator[int]:
    config = uvicorn.Config(application, log_level="critical", access_log=False, lifespan="off")
    server = _QuietServer(config, limits)
    with closing(listening_socket("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join()


def ask(port: int, source: str = "127.0.0.1") -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0)) as line:
        line.sendall(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        return line.recv(100)


def is_closed(line: socket.socket, seconds: float = 30) -> bool:
    """Whether the server ends the connection in time."""
    line.settimeout(seconds)
    try:
        while line.recv(1 << 16):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


HALF_SENT = [
    b"",
    b"GET / HTTP/1.1\r\nhost: a\r\nx-",
    b"PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nabc",
    b"PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
]


@pytest.mark.parametrize("sent", HALF_SENT)
def test_a_half_sent_request_is_ended(sent: bytes) -> None:
    with serving(QUICK) as port, socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(sent)
        assert is_closed(line)
        assert ask(port).startswith(b"HTTP/1.1 200")


def test_a_client_that_drips_its_headers_is_ended() -> None:
    with serving(QUICK) as port, socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"GET / HTTP/1.1\r\n")
        end, ended = time.monotonic() + 30, False
        while not ended and time.monotonic() < end:
            try:
                line.sendall(b"x: y\r\n")
            except ConnectionError:
                ended = True
            time.sleep(0.05)
        assert ended


def test_a_client_that_does_not_read_its_answer_is_ended() -> None:
    with serving(QUICK) as port, socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n")
        time.sleep(3)
        line.settimeout(30)
        received = 0
        try:
            while part := line.recv(1 << 20):
                received += len(part)
        except ConnectionError:
            pass
        assert received < 64 << 20


def test_one_client_has_so_many_connections_and_others_have_room() -> None:
    patient = ConnectionLimits(connections_max=60, per_client_max=20)
    with serving(patient) as port:
        lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        time.sleep(0.2)
        with socket.create_connection(("127.0.0.1", port)) as one_more:
            assert is_closed(one_more, 10)
        assert ask(port, "127.0.0.2").startswith(b"HTTP/1.1 200")
        for line in lines:
            line.close()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                if ask(port).startswith(b"HTTP/1.1 200"):
                    return
            except ConnectionError:
                time.sleep(0.05)
        raise AssertionError("its connections were closed, and it still has no room")


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::"),
        ("no address", "no address"),
    ],
)
def test_a_client_is_an_address_or_a_64(address: str, client: str) -> None:
    assert client_key(address) == client


# --- rates ----------------------------------------------------------------------------------------


def test_a_client_may_ask_so_often_and_others_are_not_affected() -> None:
    rates = ClientRates(2.0)
    assert [rates.wait_seconds("a", 100.0) for _ in range(20)] == [0.0] * 20
    assert rates.wait_seconds("a", 100.0) == 0.5
    assert rates.wait_seconds("b", 100.0) == 0.0
    assert rates.wait_seconds("a", 100.5) == 0.0
    assert rates.wait_seconds("a", 100.5) > 0


def test_the_memory_of_clients_is_bounded() -> None:
    rates = ClientRates(1.0)
    for number in range(CLIENTS_MAX + 10):
        rates.wait_seconds(str(number), 0.0)
    assert len(rates) == CLIENTS_MAX


def test_a_full_pool_refuses_at_once() -> None:
    asyncio.run(_fill_a_pool())


async def _fill_a_pool() -> None:
    go_on = threading.Event()
    pool = BoundedPool("test", 1, 1)
    waiting = [asyncio.create_task(pool.run(go_on.wait, 30)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(PoolBusy):
        await pool.run(time.sleep, 0)
    go_on.set()
    assert await asyncio.gather(*waiting) == [True, True]
    assert await pool.run(len, "abc") == 3
    pool.close()

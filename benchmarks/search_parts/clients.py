"""Questions -> how long each of several clients waited for each answer, over HTTP.

Closed loop: every client has one connection and asks again as soon as it has its answer, without a pause;
so the server is always busy, and a client waits for all the others' questions before its own. Open loop:
questions come at random moments, at a fixed rate whether or not the server keeps up, over the same
connections; a question that finds none free has waited since it came. All clients are one process, which is
kept off the server's core.
"""

from __future__ import annotations

import os
import random
import selectors
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

CLIENTS = 8
PORT = 8099
_SERVER = """
import sys
from pathlib import Path
from ipmicra.net.listener import listening_socket
from ipmicra.search.http.application import serve_requests
from ipmicra.search.settings import SearchSettings
from ipmicra.search.tantivy.index import TantivyIndex
index = TantivyIndex(Path(sys.argv[1]))
listener = listening_socket("127.0.0.1", int(sys.argv[2]))
serve_requests(index, listener, SearchSettings(questions_per_second_max=0))
"""


@contextmanager
def serving(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A search server on its own core, if there are two."""
    cores = sorted(os.sched_getaffinity(0))
    server = subprocess.Popen([sys.executable, "-c", _SERVER, str(folder), str(PORT)])
    os.sched_setaffinity(server.pid, {cores[0]})
    os.sched_setaffinity(0, {cores[-1]})
    try:
        _wait_until_it_listens()
        yield server
    finally:
        os.sched_setaffinity(0, cores)
        server.terminate()
        server.wait()


def waits_ms(path: str, questions: list[str]) -> list[float]:
    """The clients' waiting times for all queries, each sent once."""
    asked = iter(questions)
    waits: list[float] = []
    with selectors.DefaultSelector() as selector:
        for _ in range(CLIENTS):
            client = _Client(path)
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.ask(next(asked))
        busy = CLIENTS
        while busy:
            for key, _ in selector.select():
                client = key.data
                if not client.has_its_answer():
                    continue
                waits.append(client.waited_ms())
                question = next(asked, None)
                if question is not None:
                    client.ask(question)
                    continue
                selector.unregister(client.socket)
                client.socket.close()
                busy -= 1
    return waits


def waits_at_rate_ms(path: str, questions: list[str], per_second: float) -> list[float]:
    """The waiting time of each query since its arrival, for arrivals by a Poisson process."""
    dice = random.Random(per_second)
    free = deque(_Client(path) for _ in range(CLIENTS))  # in turn: one left idle for long is closed
    waits: list[float] = []
    due_at = time.perf_counter()
    coming = deque((question, due_at := due_at + dice.expovariate(per_second)) for question in questions)
    with selectors.DefaultSelector() as selector:
        for client in free:
            selector.register(client.socket, selectors.EVENT_READ, client)
        while len(waits) < len(questions):
            while free and coming and coming[0][1] <= time.perf_counter():
                question, came_at = coming.popleft()
                free.popleft().ask(question, came_at)
            pause_s = max(0.0, coming[0][1] - time.perf_counter()) if free and coming else None
            for key, _ in selector.select(pause_s):
                if key.data.has_its_answer():
                    waits.append(key.data.waited_ms())
                    free.append(key.data)
    for client in free:
        client.socket.close()
    return waits


class _Client:
    def __init__(self, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", PORT))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._path = path
        self._received = b""
        self._asked_at = 0.0

    def ask(self, question: str, came_at: float | None = None) -> None:
        line = f"GET {self._path}?q={quote(question)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        self._received = b""
        self._asked_at = came_at or time.perf_counter()
        self.socket.sendall(line.encode())

    def has_its_answer(self) -> bool:
        self._received += self.socket.recv(1 << 18)
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return False
        assert head.startswith(b"HTTP/1.1 200"), head
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        return len(body) >= int(length)

    def waited_ms(self) -> float:
        return (time.perf_counter() - self._asked_at) * 1000


def _wait_until_it_listens() -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", PORT)).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the server did not start")


def cpu_seconds(pid: int) -> float:
    """The CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

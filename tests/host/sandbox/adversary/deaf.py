"""Dispatched code that does not listen: requests a page again and again, whatever the host says.

The port of the site stands in the file `target-port` beside this one.
"""

from __future__ import annotations

import argparse
import socket
import time
from pathlib import Path

import msgspec


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--broker", type=int, required=True)
    given, _ = parser.parse_known_args()
    port = int(Path(__file__).with_name("target-port").read_text())
    broker = socket.socket(fileno=given.broker)
    ask = {"type": "connect", "number": 1, "name": "127.0.0.1", "address": "127.0.0.1", "port": port}
    while True:
        broker.send(msgspec.msgpack.encode({**ask, "patience_ms": 1_000}))
        _, fds, _, _ = socket.recv_fds(broker, 65_536, 1)
        if fds:
            keep_asking(socket.socket(fileno=fds[0]))


def keep_asking(sock: socket.socket) -> None:
    sock.setblocking(True)
    try:
        while True:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            if not sock.recv(65_536):
                return
            time.sleep(0.01)
    except OSError:
        return


if __name__ == "__main__":
    main()

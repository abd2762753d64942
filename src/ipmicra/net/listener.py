"""An address and a port -> a socket that listens there, or a message with the reason why not.

Invariant: the socket is bound before the service is announced.
"""

from __future__ import annotations

import errno
import socket

from ipmicra.errors import HostFault, OperatorFault

BACKLOG = 2048
PORT_MAX = 65535


def listening_socket(address: str, port: int, option: str = "--port") -> socket.socket:
    """Listen; `option` is what the operator would change."""
    if not 0 <= port <= PORT_MAX:
        raise OperatorFault(f"port {port} does not exist: give {option} between 1 and {PORT_MAX}")
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise OperatorFault(
            f"{address!r} is not an address of this machine: {error.strerror}"
        ) from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise HostFault(f"listening at {address}:{port}: {_advice(error, option)}") from error
    listener.set_inheritable(True)
    return listener


def _advice(error: OSError, option: str) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"another program uses this port: stop it, or give another with {option}"
        case errno.EACCES:
            return f"ports below 1024 need privileges: give a higher one with {option}"
        case errno.EADDRNOTAVAIL:
            return "this machine does not have the address: give one of its own, or 0.0.0.0 for all"
        case _:
            return error.strerror or str(error)

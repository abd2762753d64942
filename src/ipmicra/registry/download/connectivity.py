"""Files to fetch -> a fault within seconds where none of their servers can even be looked up.

Invariant: a machine without a network gets a message, not minutes of silence while each file is tried.
"""

from __future__ import annotations

import queue
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from ipmicra.errors import SiteFault
from ipmicra.registry.download.sources import RemoteFile

PATIENCE_SECONDS = 4.0


def check_names(
    files: Iterable[RemoteFile],
    patience_s: float = PATIENCE_SECONDS,
    look_up: Callable[[str], object] = lambda name: socket.getaddrinfo(name, 443),
) -> None:
    """Raise `SiteFault` unless one of the names has an address. A proxy looks names up by itself."""
    names = sorted({urlsplit(file.url).hostname or "" for file in files})
    if urllib.request.getproxies() or not names:
        return
    answers: queue.Queue[str] = queue.Queue()

    def ask(name: str) -> None:
        try:
            look_up(name)
            answers.put("")
        except OSError as error:
            answers.put(f"{name}: {error.strerror or error}")

    for name in names:  # daemons: a resolver that never answers does not keep the program from ending
        threading.Thread(target=ask, args=(name,), daemon=True).start()
    why = ["no answer"]
    try:
        for _ in names:
            reason = answers.get(timeout=patience_s)
            if not reason:
                return
            why.append(reason)
    except queue.Empty:
        pass
    raise SiteFault(
        f"none of the registries' servers can be looked up ({why[-1]}): is this machine connected? "
        "Behind a proxy, set https_proxy. `ipmicra registry build --sample` needs no network"
    )

"""ADDRESS:PORT as people write it -> where to listen, and the address by which to call it."""

from __future__ import annotations

from ipmicra.errors import OperatorFault

LISTEN = "127.0.0.1:8790"  # of a coordinator, unless it is given
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - where it listens, not where to


def parse_listen(listen: str) -> tuple[str, int]:
    address, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        raise OperatorFault(f"--listen {listen!r}: write ADDRESS:PORT, such as {LISTEN}")
    return address.strip("[]"), int(port)


def address_to_call(listen: str) -> str:
    name, _, port = listen.rpartition(":")
    return f"http://{_EVERYWHERE.get(name, name)}:{port}"

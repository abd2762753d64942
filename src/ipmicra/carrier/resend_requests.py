"""Pages that a receiver lacks -> a file in the spool of the crawler that should send them whole, and
back.

Invariant: a request is durable when it is written, and forgotten only after the crawler has noted it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ipmicra.carrier.durable import sync_folder, write_durably

_FILE = "wanted-whole"


def write_requests(spool: Path, urls: Sequence[str]) -> None:
    """Replace what was requested before; nothing to request for leaves no file."""
    if urls:
        write_durably(spool / _FILE, "\n".join(urls).encode("utf-8", "surrogatepass"))
    else:
        clear_requests(spool)


def requests_in(spool: Path) -> list[str]:
    try:
        return (spool / _FILE).read_bytes().decode("utf-8", "surrogatepass").split("\n")
    except FileNotFoundError:
        return []


def clear_requests(spool: Path) -> None:
    if (spool / _FILE).exists():
        (spool / _FILE).unlink()
        sync_folder(spool)

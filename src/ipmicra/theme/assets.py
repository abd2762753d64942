"""Names -> stylesheet, scripts and pictures, each at a URL that changes with its content.

Invariant: only files in `files/` are served, by their plain name; a path is never interpreted.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

FOREVER = "public, max-age=31536000, immutable"
_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """One file as it is served."""

    body: bytes
    media_type: str
    version: str


@cache
def assets() -> dict[str, Asset]:
    """All of them by name."""
    root = files("ipmicra.theme") / "files"
    found = [*root.iterdir(), *(root / "vendored").iterdir()]
    return {file.name: _asset(file) for file in found if _ending(file) in _MEDIA_TYPES}


def _asset(file: Traversable) -> Asset:
    body = file.read_bytes()
    return Asset(body, _MEDIA_TYPES[_ending(file)], hashlib.sha256(body).hexdigest()[:12])


def _ending(file: Traversable) -> str:
    return file.name.rpartition(".")[2]


def asset_address(name: str) -> str:
    return f"/assets/{name}?v={assets()[name].version}"


@get("/assets/{name:str}", include_in_schema=False, sync_to_thread=False)
def serve_asset(name: FromPath[str]) -> Response[bytes]:
    """One file; a browser may cache it without limit."""
    asset = assets().get(name)
    if asset is None:
        raise NotFoundException
    headers = {"Cache-Control": FOREVER}
    return Response(asset.body, media_type=asset.media_type, headers=headers)

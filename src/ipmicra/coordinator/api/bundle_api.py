"""The folder of signed bundles -> files that hosts fetch. Public: their signatures protect them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from litestar import Response, get
from litestar.enums import MediaType
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.params import Parameter

from ipmicra.coordinator.api.context import CoordinatorContext

_NAME = re.compile(r"[0-9a-z][0-9a-z.-]{0,200}\.(json|zip)")

_Kind = Annotated[
    Literal["metadata", "targets"], Parameter(description="What is signed, or the bundles.")
]
_Name = Annotated[str, Parameter(description="Of the file, as The Update Framework names it.")]


def bundle_file(context: CoordinatorContext) -> HTTPRouteHandler:
    @get(
        "/v1/bundles/{kind:str}/{name:str}",
        tags=["bundles"],
        summary="A file of the repository of signed code",
        media_type="application/octet-stream",
        raises=[NotFoundException],
    )
    async def bundle(kind: _Kind, name: _Name) -> Response[bytes]:
        data = await context.run_in_thread(_read, context.bundles, kind, name)
        if data is None:
            raise NotFoundException(f"there is no {kind} file of that name")
        return Response(data, media_type=MediaType.TEXT if name.endswith(".json") else "application/zip")

    return bundle


def _read(folder: Path | None, kind: str, name: str) -> bytes | None:
    if folder is None or not _NAME.fullmatch(name):
        return None
    try:
        return (folder / kind / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None

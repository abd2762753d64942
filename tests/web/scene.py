"""A coordinator's rows, a clock by hand, its pages, and a person's browser without scripts."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from litestar import Litestar
from litestar.testing import TestClient

from ipmicra.coordinator.service.application import application
from ipmicra.coordinator.service.rooms import Rooms
from ipmicra.coordinator.state.database import Database
from ipmicra.delegation.subnets import Subnets
from ipmicra.web.front import Pages
from tests.coordinator.stage import Stage


class Scene(Stage):
    """A stage whose pages can be asked for."""

    def __init__(self, folder: Path, tree: Subnets | None = None) -> None:
        super().__init__(Database(f"sqlite:///{folder / 'rows.sqlite'}"), folder, tree)
        self.rooms = Rooms(
            database=self.database,
            store=self.store,
            tree=self.tree,
            settings=self.settings,
            name="test",
            clock=lambda: self.now_s,
        )
        self.pages = Pages(self.rooms, folder / "index")
        self.application: Litestar = application(self.rooms, self.pages.handlers)
        self._client: TestClient[Litestar] = TestClient(
            self.application, base_url="http://crawl.example"
        )

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.__exit__(kind, value, trace)
        self.pages.close()
        self.rooms.close()

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self._client.get(path, follow_redirects=False, **options)

    def look(self) -> None:
        """The sampler looks again."""
        self.pages.sampler.latest = None

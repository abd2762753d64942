"""A coordinator's rows, a clock by hand, its pages, and a person's browser without scripts."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from litestar import Litestar
from litestar.testing import TestClient

from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.api.application import application
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import metadata
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.web.routes import Pages
from tests.coordinator.harness import CoordinatorHarness

ORIGIN = "http://crawl.example"


class DashboardHarness(CoordinatorHarness):
    """A stage whose pages can be asked for."""

    def __init__(self, folder: Path, tree: SubnetLookup | None = None, database: str = "") -> None:
        super().__init__(Database(database or f"sqlite:///{folder / 'rows.sqlite'}"), folder, tree)
        self.context = CoordinatorContext(
            database=self.database,
            store=self.store,
            tree=self.tree,
            settings=self.settings,
            name="test",
            clock=lambda: self.now_s,
        )
        self.pages = Pages(self.context, folder / "index")
        self.application: Litestar = application(self.context, self.pages.handlers)
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
        self.context.close()

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self._client.get(path, follow_redirects=False, **options)

    def post(self, path: str, form: dict[str, str], **headers: str) -> httpx.Response:
        """As a browser sends a form of ours, unless the headers say otherwise."""
        sent = {
            "origin": str(self._client.base_url).rstrip("/"),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self._client.post(path, data=form, headers=sent, follow_redirects=False)

    def form_token(self, path: str) -> str:
        """The token of the forms on a page."""
        found = re.search(r'name="form_token" value="([0-9a-f]+)"', self.get(path).text)
        assert found is not None, f"{path} has no form"
        return found[1]

    def link_token(self) -> str:
        with self.database.begin() as connection:
            return sessions.create_link(connection, self.now_s)

    def sign_in(self, secret: str | None = None) -> httpx.Response:
        form = {"secret": secret or self.link_token(), "form_token": self.form_token("/enter")}
        return self.post("/enter", form)

    def tell(self, path: str, **fields: str) -> httpx.Response:
        """Send a form of the operator's."""
        return self.post(path, {"form_token": self.form_token("/admin"), **fields})

    def strange(self) -> DashboardHarness:
        """A browser that knows nothing yet, before the same pages."""
        self._client.cookies.clear()
        return self

    def use(self, origin: str) -> None:
        """Reach the pages at another address."""
        self._client.base_url = httpx.URL(origin)

    def dump(self) -> str:
        """Everything that the rows hold, as text."""
        with self.database.read() as connection:
            tables = [table.name for table in metadata.sorted_tables]
            rows = [connection.exec_driver_sql(f"SELECT * FROM {name}").all() for name in tables]
        return str(rows)

    @property
    def cookies(self) -> httpx.Cookies:
        return self._client.cookies

    def look(self) -> None:
        """The sampler looks again."""
        self.pages.sampler.latest = None

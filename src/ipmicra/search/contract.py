"""The contract of an index: it integrates packages and answers queries.

Any engine that passes `ipmicra.testing.check_index` implements it.

Invariant: a page sent as a delta is found as if it had been sent in full. Integrating a package twice, or
an older visit after a newer one, changes nothing. An answer is made of plain data; `snippet` is HTML in
which everything but `<mark>` is escaped.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ipmicra.carrier.package import Package
from ipmicra.errors import HostFault
from ipmicra.model.page import Page
from ipmicra.model.search import SearchAnswer, SearchRequest


class IndexDamaged(HostFault):
    """The files of an index cannot be read; packages have everything that is needed to make it anew."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            f"{what}. Make the index anew from the packages: ipmicra search reindex (for a coordinator: "
            "ipmicra coordinator reindex)"
        )


class SeenPage(NamedTuple):
    """A page as it was last seen."""

    page: Page
    crawler: str  # the vantage
    fetched_at_ms: int


class SearchIndex(Protocol):
    """An engine behind the search."""

    def integrate(self, package: Package, digest: str) -> int:
        """Take in a package's records; how many changed something. They are found after `commit`."""

    def purge(self, crawler: str) -> int:
        """Take out every page that the crawler brought; it is gone on return. Returns how many."""
        ...

    def wanted(self, crawler: str) -> list[str]:
        """URLs for which that crawler sent a delta whose base is missing: it must send them in full."""

    def page(self, url: str) -> Page | None:
        """The page as it is known; None where it is gone or unknown."""

    def seen(self, url: str) -> SeenPage | None:
        """The page with its last visit and crawler."""

    def commit(self) -> None:
        """Make what was integrated findable and durable. A page that the engine refuses is left out."""

    def search(self, request: SearchRequest) -> SearchAnswer: ...

    def page_count(self) -> int:
        """Pages that can be found."""
        ...

    def package_count(self) -> int:
        """Packages that were integrated."""

    def reload(self) -> None:
        """See what another process has committed. Does nothing to an index that was opened to write."""

    def close(self) -> None: ...

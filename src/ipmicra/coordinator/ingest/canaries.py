"""Pages whose answer the operator knows -> whether a package tells lies about them.

The operator puts pages of his own among the seeds and says what stands in them. Law: pure. A crawler cannot
tell these pages from others.
"""

from __future__ import annotations

from collections.abc import Iterable

from ipmicra.carrier.package import Package
from ipmicra.coordinator.settings import KnownPage
from ipmicra.model.records import PageSeen


def contradiction(package: Package, known: Iterable[KnownPage]) -> str | None:
    """What the package says that cannot be true; None: nothing."""
    expected = {page.url: page.words for page in known}
    for record in package.records:
        if isinstance(record, PageSeen) and record.url in expected:
            text = f"{record.page.title}\n{record.page.text}"
            if expected[record.url] not in text:
                return f"{record.url} says {expected[record.url]!r}, and was brought without it"
    return None

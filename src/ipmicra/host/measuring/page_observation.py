"""A page that another crawler has brought -> how it looks from here, for the coordinator to compare.

Law: one request, no redirect followed: what the other crawler brought was at this very address.
"""

from __future__ import annotations

from ipmicra.crawler.extraction.extract import extract
from ipmicra.model.fetches import Fetched, Fetcher, FetchRequest
from ipmicra.protocol.host_messages import PageObservation


async def observe_page(web: Fetcher, url: str) -> PageObservation:
    outcome = await web.fetch(FetchRequest(url=url))
    if not isinstance(outcome, Fetched):
        return PageObservation(url=url, detail=outcome.detail)
    if outcome.status != 200:
        return PageObservation(url=url, detail=f"status {outcome.status}")
    page = extract(outcome.body, outcome.headers.get("content-type") or "", url)
    return PageObservation(
        url=url, content_hash=page.content_hash.hex(), similarity_hash=page.similarity_hash
    )

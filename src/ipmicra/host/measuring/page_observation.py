"""A page that another crawler has brought -> how it looks from here, for the coordinator to compare.

Law: one request, no redirect followed: what the other crawler brought was at this very address.
"""

from __future__ import annotations

from ipmicra.crawler.extraction.extract import extract
from ipmicra.model.fetches import Fetched, Fetcher, FetchRequest
from ipmicra.protocol.host_messages import Look


async def looked_at(web: Fetcher, url: str) -> Look:
    outcome = await web.fetch(FetchRequest(url=url))
    if not isinstance(outcome, Fetched):
        return Look(url=url, detail=outcome.detail)
    if outcome.status != 200:
        return Look(url=url, detail=f"status {outcome.status}")
    page = extract(outcome.body, outcome.headers.get("content-type") or "", url)
    return Look(url=url, content_hash=page.content_hash.hex(), similarity_hash=page.similarity_hash)

"""The main function of a crawl's process, with an extractor that never comes to an end on some pages."""

from __future__ import annotations

from typing import Any

from ipmicra.crawler.multiprocess import worker
from ipmicra.crawler.parsing import jobs

extract = vars(jobs)["extract"]


def extract_most(body: bytes, *rest: Any, **others: Any) -> Any:
    while b"hang here" in body:
        pass
    return extract(body, *rest, **others)


def work(*words: Any) -> None:
    vars(jobs)["extract"] = extract_most
    worker.work(*words)

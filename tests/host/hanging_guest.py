"""The program of a hosted crawler, with an extractor that never comes to an end on some pages."""

from __future__ import annotations

from typing import Any

from ipmicra.crawler.parsing import jobs
from ipmicra.host.hosted.guest.program import main

extract = vars(jobs)["extract"]


def extract_most(body: bytes, *rest: Any, **others: Any) -> Any:
    while b"hang here" in body:
        pass
    return extract(body, *rest, **others)


if __name__ == "__main__":
    vars(jobs)["extract"] = extract_most
    main()

"""A job -> whether parsing it takes a moment, judged from its size and its number of tags.

The caps are measured: `python -m benchmarks foreign_input` shows the slowest input that we know of for each
reader at these caps, and `tests/crawler/test_bounded_work.py` holds it below 50 ms. Invariant: judging costs
one pass over at most `LIGHT_BYTES_MAX` bytes. A PDF is never light: its reader is the largest native code.
"""

from __future__ import annotations

from ipmicra.crawler.parsing.jobs import ParseJob

LIGHT_BYTES_MAX = 512 << 10
LIGHT_TAGS_MAX = 5_000  # a link of a foreign name costs 5 us, any other tag less
PDF = "application/pdf"


def is_light(job: ParseJob) -> bool:
    return (
        len(job.body) <= LIGHT_BYTES_MAX and job.body.count(b"<") <= LIGHT_TAGS_MAX and not is_pdf(job)
    )


def is_pdf(job: ParseJob) -> bool:
    return job.content_type[:64].partition(";")[0].strip().lower() == PDF

"""Bytes of a response -> what a search engine needs of it: title, text, links, dates, fingerprints.

Invariant: no I/O and no clock. For any bytes, `extract` returns a Page in bounded time and memory.
"""

from ipmicra.crawler.extraction.extract import extract
from ipmicra.model.page import Link, Page, RobotsDirectives

__all__ = ["Link", "Page", "RobotsDirectives", "extract"]

"""Pages made to hurt: each costs bounded time and memory, and still gives a Page."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.crawler.extraction import extract

HOSTILE = {
    "a million nested tags": '"<div>" * 1_000_000 + "deep"',
    "nested formatting": '"<b><i><font>" * 50_000 + "x"',
    "nested links": '"<a href=x>" * 100_000',
    "nested tables": '"<table><tr><td>" * 20_000 + "x"',
    "one wide cell": '"<table><tr><td>" + "x" * 999_999 + "<td>y" + "<tr><td>a<td>b" * 9_999',
    "an attribute of 20 MB": '"<p title=\'" + "a" * 20_000_000 + "\'>x"',
    "a hundred thousand attributes": '"<p " + " ".join(f"a{i}=1" for i in range(100_000)) + ">x"',
    "a tag that never ends": '"<" + "a" * 5_000_000',
    "NULs": '"a\\0b<p\\0>\\0</p\\0>" * 200_000',
    "many links": '"".join(f"<a href=/{i}>{i}</a>" for i in range(200_000))',
    "one href of 5 MB": '"<a href=\'" + "x/../" * 1_000_000 + "\'>x</a>"',
    "unclosed comments": '"<!--" * 1_000_000',
    "many quotes in a meta": '"<meta " + "charset" * 700_000',
    "entities": '"&#x10ffff;&amp;&notin;&#0;" * 300_000',
    "a long word": '"<title>" + "w" * 8_000_000',
    "blockquotes": '"<blockquote>a" * 20_000',
    "lists": '"<ol><li>a" * 20_000',
    "end tags of nothing": '"<b>" + "<x>" * 600 + "</zz></i></b>" * 600_000',
    "formatting in the wrong order": '("<i>" * 200 + "<div>" * 200 + "</i>" * 200) * 4_000',
    "cells of nothing": '"<table>" + "<b>" * 500 + "<td>" * 1_500_000',
    "scripts in comments": '"<script><!--" + "<script></script>" * 400_000',
    "JSON-LD that never ends": '"<script>" + "\\"datePublished\\":" * 400_000',
}

_VICTIM = """
import importlib, resource, sys, time
from functools import partial
from ipmicra.crawler.extraction import extract
from ipmicra.crawler.extraction.markup import READERS, read
importlib.import_module("ipmicra.crawler.extraction.extract").read = partial(read, reader=READERS["{reader}"])
body = ({source}).encode()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
page = extract(body, "text/html", "http://a.example/")
grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
print(time.process_time() - start, grown_mb, len(page.text), len(page.links))
"""


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_page_costs_bounded_time_and_memory(source: str, reader: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", _VICTIM.format(source=source, reader=reader)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (30, 30)),
    )
    assert finished.returncode == 0, finished.stderr
    seconds, grown_mb, characters, links = (float(word) for word in finished.stdout.split())
    assert seconds < 8
    assert grown_mb < 700
    assert characters <= 2 * 1024 * 1024
    assert links <= 50_000


@pytest.mark.usefixtures("reader")
@settings(max_examples=150, deadline=None)
@given(
    body=st.binary(max_size=400)
    | st.text(alphabet="<>/='\"& aptdbhre!-#;:\0é中\n", max_size=400).map(str.encode),
    content_type=st.sampled_from(
        [
            "text/html",
            "",
            "text/html; charset=x",
            "application/xhtml+xml",
            "text/plain",
            "text/html;charset=utf-7",
        ]
    ),
)
def test_any_bytes_give_a_page_that_can_be_sent(body: bytes, content_type: str) -> None:
    page = extract(body, content_type, "http://a.example/x")
    assert page.url == "http://a.example/x"
    for text in (page.title, page.text, *page.headings, *(link.url for link in page.links)):
        text.encode()

"""Readers of markup say the same of markup that is as it should be, and a faulty one is stepped over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.crawler.extraction import compiled_markup
from ipmicra.crawler.extraction.links import folder_of, links_of
from ipmicra.crawler.extraction.markup import READERS, MarkupContents, MarkupReader, read

ADDRESS = "https://site.example/a/b/page.html"

words = st.text("ab é中&;\n", min_size=1, max_size=12).map(lambda text: text.replace("&", "&amp;"))
places = st.sampled_from(
    ["", "", "http://", "HTTPS://", "//", "http:", "https://b.example", "ftp://", "mailto:"]
)
hrefs = st.builds(str.__add__, places, st.text("xyX1/.?=#:@é %-", max_size=10))
inline = st.recursive(
    words,
    lambda inner: st.one_of(
        st.builds("<{0}>{1}</{0}>".format, st.sampled_from(["b", "i", "span", "code", "x-own"]), inner),
        st.builds("<span hidden>{0}</span>".format, inner),
        st.lists(inner, max_size=3).map("".join),
    ),
    max_leaves=6,
)
anchors = st.builds(
    '<a href="{0}" rel="{1}">{2}</a>'.format, hrefs, st.sampled_from(["", "UGC"]), inline
)
phrase = st.lists(inline | anchors, max_size=4).map("".join)
blocks = st.recursive(
    st.builds("<{0}>{1}</{0}>".format, st.sampled_from(["p", "h1", "h2", "pre", "div", "li"]), phrase),
    lambda inner: st.builds(
        "<{0}>{1}</{0}>".format,
        st.sampled_from(["div", "section", "article", "blockquote", "nav", "footer", "main", "form"]),
        st.lists(inner, max_size=4).map("".join),
    ),
    max_leaves=10,
)
documents = st.lists(blocks, max_size=6).map(
    lambda body: f"<!doctype html><html><head><title>t</title></head><body>{''.join(body)}</body></html>"
)


@pytest.mark.usefixtures("reader")
@given(documents)
def test_readers_agree_where_the_markup_is_sound(document: str) -> None:
    readings = [read(document.encode(), folder_of(ADDRESS), reader) for reader in READERS.values()]
    said = [(one.title, one.headings, one.text, links_of(one, ADDRESS)) for one in readings]
    assert all(one == said[0] for one in said)


def test_a_fault_of_a_reader_costs_the_page_time_and_nothing_else() -> None:
    def faulty(_html: bytes, _folder: str) -> tuple[object, ...]:
        raise RuntimeError("a fault")

    reader: MarkupReader = faulty
    assert read(b"<title>t</title><p>text", "https://site.example/", reader).text == "text"


def test_every_reader_tells_what_a_reading_consists_of(reader: str) -> None:
    assert MarkupContents._fields == compiled_markup.FIELDS
    assert len(READERS[reader](b"", "")) == len(MarkupContents._fields)

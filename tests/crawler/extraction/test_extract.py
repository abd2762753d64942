"""Extraction: what goes in, what a search engine gets."""

from __future__ import annotations

import can_ada
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.crawler.extraction import Link, Page, RobotsDirectives, extract

URL = "https://site.example/folder/page.html"
pytestmark = pytest.mark.usefixtures("reader")


def html(body: str, head: str = "", content_type: str = "text/html; charset=utf-8") -> Page:
    document = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    return extract(document.encode(), content_type, URL)


def test_the_head_tells_title_description_canonical_and_language() -> None:
    document = """<html lang="de-AT"><head><title> A &amp;
        B </title><meta name=Description content="what it is"><link rel="canonical" href="/real">"""
    page = extract(document.encode(), "text/html", URL)
    assert (page.title, page.description) == ("A & B", "what it is")
    assert (page.canonical, page.language) == ("https://site.example/real", "de")


def test_a_page_that_names_itself_has_no_canonical() -> None:
    assert html("", f'<link rel=canonical href="{URL}">').canonical == ""


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("H<sub>2</sub>O and <b>bo</b>ld", "H2O and bold"),
        ("<ul><li>a</li><li><a href=x>b</a></li></ul>", "a\nb"),
        ("<table><tr><td>1<td>2<tr><td>3<td>4</table>after", "1 2\n3 4\nafter"),
        ("x<table><caption>c</caption><tr><th>1<td>2</table>y", "x\nc\n1 2\ny"),
        ("a<br>b", "a\nb"),
        ("<script>no()</script><style>no</style><template>no</template>yes", "yes"),
        ("<div hidden>no</div><i aria-hidden=true>no</i><svg><text>no</text></svg>yes", "yes"),
        ("<nav>no</nav><div role=navigation>no</div><footer>no</footer>yes", "yes"),
        ("<article>yes<footer>by me</footer></article>", "yes\nby me"),
        ("<select><option>no</select><button>no</button><textarea>no</textarea>yes", "yes"),
        ("<pre>  x = 1\n    y</pre>", "x = 1\ny"),
        ("<pre>a  <b> b</b>\tc\r\nd</pre>", "a   b\tc\nd"),
        ("caf&eacute; &#x4e2d;", "café 中"),
        ("&lt;p> 1 < 2 &amp &unknown; &#0;", "<p> 1 < 2 & &unknown; \ufffd"),
        ("<ol start=7><li>first<li>second</ol>", "first\nsecond"),
        ("<ul>loose<li>a</ul><menu>too</menu>", "loose\na\ntoo"),
        ("a<form>b<fieldset><legend>c</legend>d</fieldset></form>e", "a\nb\nc\nd\ne"),
        ("<center>a</center><hgroup>b</hgroup>c", "a\nb\nc"),
        ("<p>one<p>two<div>three", "one\ntwo\nthree"),
        ("<dl><dt>term<dd>its meaning<dt>next</dl>", "term\nits meaning\nnext"),
        ("<b>1<p>2</b>3</p>4", "1\n23\n4"),
        ("one</p>two</br>three", "one\ntwo\nthree"),
        ("<!-- no --><!doctype no><?no no?></ no>a<!-->b<!--no--!>c", "abc"),
        ("<script>'<p>no</p>'; <!--<script>no</script>no--></script>yes", "yes"),
        ("<i hidden>no<b>no</i>yes</b>", "yes"),
        ("<nav>no<table><tr><td>no</nav>no</table>no</nav>yes", "yes"),
        ("<svg><title>no</title><path/><g><text>no</svg>yes", "yes"),
        ("<svg><g>no<p>yes", "yes"),
        ("<xmp><b>as it is</b></xmp>", "<b>as it is</b>"),
        ("a&nbsp;<br>&#12288;b&nbsp;c", "a\nb\xa0c"),
        ("<own-element>a<OTHER-one>b</other-ONE></own-element>", "ab"),
        ("<a title='>' href=x>a</a><p class=\"no\n>\">b", "a\nb"),
    ],
)
def test_visible_text_is_a_line_a_block_without_what_the_markup_calls_something_else(
    markup: str, text: str
) -> None:
    assert html(markup).text == text


@pytest.mark.parametrize(
    ("markup", "headings"),
    [
        ("<h2>b</h2><h1>a <i>x</i></h1><h3> </h3>", ["a x", "b"]),
        ("<h1>a<h2>b</h3>c", ["a", "b"]),
        ("<h2>a<a href=# aria-hidden=true>#</a></h2><nav><h2>no</h2></nav>", ["a"]),
        ("<h1><div>deep</div></h1><div><h1>left open</div>", ["deep", "left open"]),
    ],
)
def test_headings_are_listed_by_level(markup: str, headings: list[str]) -> None:
    assert html(markup).headings == headings


@pytest.mark.parametrize(
    ("markup", "links"),
    [
        ('<a href="x.html#top">X</a>', [Link("https://site.example/folder/x.html", "X", "")]),
        (
            '<a href="/y" rel="NoFollow ugc">Y <b>y</b></a>',
            [Link("https://site.example/y", "Y y", "nofollow ugc")],
        ),
        (
            '<a href="z"><img alt="a picture"></a>',
            [Link("https://site.example/folder/z", "a picture", "")],
        ),
        ('<a href="z"></a><a href="z">late</a>', [Link("https://site.example/folder/z", "late", "")]),
        ('<a href="z">1</a><a href="./z">2</a>', [Link("https://site.example/folder/z", "1", "")]),
        ('<a href="//o.example:80/">o</a>', [Link("https://o.example:80/", "o", "")]),
        ('<nav><a href="/n">n</a></nav>', [Link("https://site.example/n", "n", "")]),
        ('<template><a href="/t">t</a></template>', [Link("https://site.example/t", "t", "")]),
        ('<noscript><a href="/s">s</a></noscript>', [Link("https://site.example/s", "s", "")]),
        (
            '<map><area href="/area" alt="a part"></map>',
            [Link("https://site.example/area", "a part", "")],
        ),
        ("<svg><a href=/in-a-drawing>d</a></svg>", [Link("https://site.example/in-a-drawing", "d", "")]),
        (
            '<a rel="nofollow ugc" href=z></a><a href=z rel=tag></a>',
            [Link("https://site.example/folder/z", "", "tag")],
        ),
        (
            '<a rel=nofollow href=z>a</a><a href="./z" rel=nofollow></a>',
            [Link("https://site.example/folder/z", "a", "nofollow")],
        ),
        ('<a href="http://me:secret@o.example/x">o</a>', [Link("http://o.example/x", "o", "")]),
        (
            "<p><a href=z><div>text in a block</div></a>",
            [Link("https://site.example/folder/z", "text in a block", "")],
        ),
        (
            "<p><div><a href=z><img alt=picture></div>no</p>",
            [Link("https://site.example/folder/z", "picture", "")],
        ),
        (
            "<td><a href=y>open<a href=z>closes</td>no",
            [
                Link("https://site.example/folder/y", "open", ""),
                Link("https://site.example/folder/z", "closesno", ""),
            ],
        ),
        (
            "<table><td><a href=z>in the cell<td>not</table>",
            [Link("https://site.example/folder/z", "in the cell", "")],
        ),
        (
            '<a href="?q=1&amp;r=2">q</a>',
            [Link("https://site.example/folder/page.html?q=1&r=2", "q", "")],
        ),
        ('<a href=" /s p ">q</a>', [Link("https://site.example/s%20p", "q", "")]),
        ('<a href="/%7Ex?y=%C3%A9">q</a>', [Link("https://site.example/%7Ex?y=%C3%A9", "q", "")]),
        ('<a HREF="https://SITE.example:443/a/../z">q</a>', [Link("https://site.example/z", "q", "")]),
        ('<a href="#here">h</a><a href="mailto:a@b">m</a><a href="javascript:x()">j</a><a>none</a>', []),
        ('<a href="http://[bad">b</a><a href="http://">e</a>', []),
        (f'<a href="/{"x" * 5000}">long</a>', []),
    ],
)
def test_links_are_absolute_without_fragment_and_once(markup: str, links: list[Link]) -> None:
    assert html(markup).links == links


@given(
    st.sampled_from(["", "folder/", "a//b/", "one/two/three/"]),
    st.lists(st.sampled_from(["../", "./", "..", "//"]), max_size=4).map("".join),
    st.text("aZ09._~-/", min_size=1, max_size=20),
)
def test_plain_names_are_joined_as_all_others_are(folder: str, steps: str, name: str) -> None:
    base = f"https://site.example/{folder}"
    try:
        expected = [(can_ada.parse(base) + (steps + name)).href]
    except ValueError:
        expected = []
    found = extract(f'<a href="{steps}{name}">x</a>'.encode(), "text/html", base)
    assert [link.url for link in found.links] == expected


def test_frames_lead_on() -> None:
    page = extract(
        b"<frameset><frame src=menu title=Menu><frame src=/main></frameset>", "text/html", URL
    )
    assert page.links == [
        Link("https://site.example/folder/menu", "Menu", ""),
        Link("https://site.example/main", "", ""),
    ]


@pytest.mark.parametrize(
    ("refresh", "targets"),
    [
        ("0;url=/next", ["https://site.example/next"]),
        ("5; URL='next?a=b' ", ["https://site.example/folder/next?a=b"]),
        ("5", []),
        ("0; url=javascript:x()", []),
    ],
)
def test_a_page_that_sends_its_readers_on_links_to_there(refresh: str, targets: list[str]) -> None:
    page = html("", f'<meta http-equiv=Refresh content="{refresh}">')
    assert [link.url for link in page.links] == targets


def test_the_title_is_not_that_of_a_drawing() -> None:
    page = extract(b"<svg><title>drawing</title></svg><title>page</title>", "text/html", URL)
    assert page.title == "page"


def test_directives_may_be_addressed_to_the_name_that_the_crawl_goes_by() -> None:
    head = b"<meta name=MyBot content=noindex><meta name=ipmicra content=nofollow>"
    page = extract(head, "text/html", URL, robots_header="mybot: nosnippet", agent="mybot")
    assert page.robots == RobotsDirectives(noindex=True, nosnippet=True)


def test_a_base_element_moves_relative_links() -> None:
    page = html('<a href="x">x</a>', '<base target=_blank><base href="/other/"><base href="/late/">')
    assert page.links == [Link("https://site.example/other/x", "x", "")]


@pytest.mark.parametrize(
    ("head", "published", "modified"),
    [
        ('<meta property="article:published_time" content="2020-01-02T00:00:00Z">', 1577923200, None),
        (
            '<meta property="article:modified_time" content="2020-01-02T01:00:00+01:00">',
            None,
            1577923200,
        ),
        ('<script type="application/ld+json">{"datePublished" : "2020-01-02", broken', 1577923200, None),
        ('<script>{"dateModified":"2020-01-02"}</script>', None, 1577923200),
        ('<meta name="date" content="yesterday">', None, None),
        ('<meta name="date" content="0001-01-01">', None, None),
    ],
)
def test_dates_are_what_the_page_says(head: str, published: int | None, modified: int | None) -> None:
    page = html("", head)
    assert (page.published_at_s, page.modified_at_s) == (published, modified)


def test_a_time_element_and_the_last_modified_header_are_second_best() -> None:
    page = extract(
        b'<time datetime="2020-01-02">x</time>',
        "text/html",
        URL,
        last_modified="Thu, 02 Jan 2020 00:00:00 GMT",
    )
    assert (page.published_at_s, page.modified_at_s) == (1577923200, 1577923200)


@pytest.mark.parametrize(
    ("head", "header", "asked"),
    [
        ("", "", RobotsDirectives()),
        ('<meta name=robots content="NOINDEX, follow">', "", RobotsDirectives(noindex=True)),
        ('<meta name=ipmicra content="none">', "", RobotsDirectives(noindex=True, nofollow=True)),
        ('<meta name=otherbot content="noindex">', "", RobotsDirectives()),
        ("", "nosnippet", RobotsDirectives(nosnippet=True)),
        ("", "max-snippet: 0", RobotsDirectives(nosnippet=True)),
        ("", "otherbot: noindex, nofollow", RobotsDirectives()),
        ("", "otherbot: noindex, ipmicra: nofollow", RobotsDirectives(nofollow=True)),
        ("", "otherbot: noindex\nnofollow", RobotsDirectives(nofollow=True)),  # a field of its own
        ("", "unavailable_after: 25 Jun 2010 15:00:00 PST", RobotsDirectives()),
        (
            "",
            "unavailable_after: Fri, 25 Jun 2032 15:00:00 GMT, noindex",
            RobotsDirectives(noindex=True),
        ),
        (
            '<meta name=robots content="noindex nofollow">',
            "",
            RobotsDirectives(noindex=True, nofollow=True),
        ),
        (
            '<meta name=robots content="nofollow">',
            "noindex",
            RobotsDirectives(noindex=True, nofollow=True),
        ),
    ],
)
def test_the_stricter_of_meta_robots_and_the_header_wins(
    head: str, header: str, asked: RobotsDirectives
) -> None:
    assert extract(head.encode(), "text/html", URL, robots_header=header).robots == asked


def test_xhtml_with_empty_elements_is_read_to_the_end() -> None:
    document = (
        b'<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="x"/><title>T</title></head>'
        b'<body><a id="q"/><p>end</p></body></html>'
    )
    page = extract(document, "application/xhtml+xml", URL)
    assert (page.title, page.text) == ("T", "end")


def test_plain_text_is_its_own_title() -> None:
    page = extract(b"First line\n\n  second\n", "text/plain", URL)
    assert (page.title, page.text, page.links) == ("First line", "First line\nsecond", [])


def test_what_is_no_text_gives_an_address_and_nothing_else() -> None:
    page = extract(b"\x89PNG", "image/png", URL, robots_header="noindex")
    assert (page.url, page.text, page.title, page.media_type) == (URL, "", "", "image/png")
    assert page.robots.noindex


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Der Hund und die Katze sind nicht im Garten, sondern schlafen auf dem Sofa.", "de"),
        ("The quick brown fox jumps over the lazy dog, and nobody knows the reason why.", "en"),
        (
            "これは日本語の文章です。今日はとても良い天気ですね。散歩に行きましょう。明日も晴れるでしょう。",
            "ja",
        ),
        ("too short", ""),
    ],
)
def test_a_page_that_declares_no_language_is_judged_by_its_text(text: str, language: str) -> None:
    assert html(f"<p>{text}").language == language

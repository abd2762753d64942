"""The search page: real requests to the real application, hostile titles included."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.search.http.application import application, question_pool
from ipmicra.search.http.fast_path import SearchFastPath
from ipmicra.search.http.pages import answer_page
from ipmicra.search.query.query_parser import FIELDS
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import package, seen
from ipmicra.theme.layout import NOWHERE_ELSE
from ipmicra.theme.policy import HEADERS

POOL = question_pool()
HOSTILE = "<script>alert('x')</script>\"'><img src=x onerror=alert(1)>"
ESCAPED = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyIndex]:
    index = TantivyIndex(tmp_path_factory.mktemp("index"), writable=True)
    pages = [
        seen(f"http://s{number}.example/", f"otter {number}", f"otter text {number}")
        for number in range(25)
    ]
    index.integrate(
        *package([*pages, seen("http://bad.example/?a='\"", ESCAPED, f"<p>needle {ESCAPED}")])
    )
    index.commit()
    yield index
    index.close()


@pytest.fixture(scope="module")
def client(index: TantivyIndex) -> Iterator[TestClient[Litestar]]:
    with TestClient(application(index, POOL)) as opened:
        yield opened


@pytest.fixture(scope="module")
def straight(index: TantivyIndex) -> Iterator[TestClient[SearchFastPath]]:
    with TestClient(SearchFastPath(index, NOWHERE_ELSE, application(index, POOL), POOL)) as opened:
        yield opened


def test_every_response_forbids_scripts_and_other_origins(client: TestClient[Litestar]) -> None:
    for path in ("/", "/search?q=otter", "/api/search?q=otter", "/assets/style.css", "/opensearch.xml"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_nothing_hostile_comes_out_as_markup(client: TestClient[Litestar]) -> None:
    for question in ("needle", HOSTILE, '"><script>', "javascript:alert(1)"):
        page = client.get("/search", params={"q": question}).text
        assert "<script" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page, "what was asked, or the page that was found"


def test_results_are_listed_with_their_vantage_and_can_be_turned_over(
    client: TestClient[Litestar],
) -> None:
    page = client.get("/search?q=otter").text
    assert page.count("<li>") == 10
    assert "by athens" in page
    assert "offset=10" in page
    assert client.get("/search?q=otter&offset=20").text.count("<li>") == 5


def test_the_kept_text_of_a_hit_can_be_read_with_its_words_marked(client: TestClient[Litestar]) -> None:
    found = client.get("/search?q=otter+7").text
    link = re.search(r'href="(/kept\?[^"]+)"', found)
    assert link is not None
    page = client.get(html.unescape(link[1]))
    assert page.status_code == 200
    assert "<mark>otter</mark> text" in page.text
    assert "by athens" in page.text
    hostile = client.get("/kept", params={"url": "http://bad.example/?a='\"", "q": HOSTILE}).text
    assert "<script" not in hostile
    assert "<img" not in hostile
    assert "No kept text" in client.get("/kept?url=http://nowhere.example/").text
    assert "No kept text" in client.get("/kept").text


def test_a_page_that_asks_for_no_snippet_keeps_its_text_to_itself(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path, writable=True)
    head = '<meta name=robots content="nosnippet">'
    index.integrate(*package([seen("http://a.example/", "x", "secret words", head=head)]))
    index.commit()
    with TestClient(application(index, POOL)) as client:
        page = client.get("/kept?url=http://a.example/&q=secret").text
    index.close()
    assert "words" not in page.replace("Text as seen", "")
    assert "asks search engines not to show its text" in page


def test_the_help_page_lists_every_operator(client: TestClient[Litestar]) -> None:
    assert 'href="/search/help"' in client.get("/").text
    page = client.get("/search/help").text
    assert [name for name in FIELDS if f"{name}:" not in page] == []


def test_what_was_not_demanded_or_corrected_is_said(client: TestClient[Litestar]) -> None:
    page = client.get("/search", params={"q": "how otter vs walrus"}).text
    assert "without: how, vs, walrus" in page
    assert "does not have: walrus" in page
    assert "Showing results for <strong>otter</strong>" in client.get("/search?q=oter").text
    assert "No pages found" in client.get("/search?q=xyzzyx").text


def test_pages_of_results_are_numbered(client: TestClient[Litestar]) -> None:
    page = client.get("/search?q=otter&offset=10").text
    assert '<span aria-current="page">2</span>' in page
    assert ">1</a>" in page
    assert ">3</a>" in page


def test_the_api_answers_with_what_the_command_prints(client: TestClient[Litestar]) -> None:
    answer = msgspec.json.decode(client.get("/api/search?q=otter&limit=3").content, type=SearchAnswer)
    assert (len(answer.hits), answer.total) == (3, 25)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "offset=-1", "offset=999999", "limit=x", "every=maybe"]
)
def test_numbers_beyond_the_caps_are_refused(client: TestClient[Litestar], query: str) -> None:
    assert client.get(f"/search?q=otter&{query}").status_code == 400


def test_a_browser_can_add_the_engine(client: TestClient[Litestar]) -> None:
    assert "search?q={searchTerms}" in client.get("/opensearch.xml").text
    assert 'type="application/opensearchdescription+xml"' in client.get("/").text


@pytest.mark.parametrize("path", ["/", "/search?q=otter", "/api/search?q=otter", "/opensearch.xml"])
def test_head_is_answered_as_get_without_a_body(client: TestClient[Litestar], path: str) -> None:
    head, whole = client.head(path), client.get(path)
    assert head.status_code == whole.status_code == 200
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert client.post(path).status_code == 405


PLAIN = (
    "/api/search?q=otter",
    "/api/search?q=otter&limit=3&offset=2&every=true",
    "/search?q=otter+7%20x",
)
OTHERS = (
    "/search", "/search?q=", "/search?q=otter&q=needle&x=1", "/search?q=%ff%00", "/search?q=otter&limit=0",
    "/api/search?q=a&q=b", "/api/search?x=1", "/api/search?every=maybe", "/api/search", "/", "/nowhere",
)  # fmt: skip


@pytest.mark.parametrize("path", [*PLAIN, *OTHERS])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_the_straight_way_answers_as_the_application_does(
    client: TestClient[Litestar], straight: TestClient[SearchFastPath], method: str, path: str
) -> None:
    one, other = straight.request(method, path), client.request(method, path)
    assert one.status_code == other.status_code
    assert _but_for_the_clock(one.text) == _but_for_the_clock(other.text)
    headers = [{**answer.headers, "content-length": ""} for answer in (one, other)]
    assert headers[0] == headers[1]


def _but_for_the_clock(text: str) -> str:
    return re.sub(r"[0-9.e-]+ ms|\"took_ms\":[0-9.e-]+", "", text)


def test_a_page_may_run_only_scripts_of_its_own() -> None:
    """The words themselves, so that a laxer policy is not compared with itself."""
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["script-src"] == "'self'"
    assert policy["default-src"] == "'none'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", " javascript:x", "vbscript:x"]
)
def test_a_result_never_leads_to_what_a_browser_would_run(url: str) -> None:
    hit = Hit(
        url=url, site="s", title="t", snippet="", language="", crawler="c",
        fetched_at_ms=0, published_at_s=None, score=1.0,
    )  # fmt: skip
    html = answer_page(
        SearchRequest(text="t"), SearchAnswer(hits=[hit], total=1, took_ms=0.0), NOWHERE_ELSE
    )
    assert 'href="#"' in html
    assert f'href="{url}' not in html


def test_the_policy_of_a_page_is_as_written_here(client: TestClient[Litestar]) -> None:
    """Not compared with the program's own constant: one that is weakened is noticed."""
    headers = client.get("/search?q=otter").headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"

"""What every index must do, whichever engine is behind it: each joins by an entry in ENGINES."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ipmicra.model.records import Record
from ipmicra.model.search import SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.search.tantivy.index import TantivyIndex
from tests.search.second_engine.fts5_index import Fts5Index
from tests.search.worlds import changed, gone, package, seen

ENGINES: dict[str, Callable[[Path], SearchIndex]] = {
    "tantivy": lambda folder: TantivyIndex(folder, writable=True),
    "fts5": Fts5Index,
}


@pytest.fixture(params=list(ENGINES.values()), ids=list(ENGINES))
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SearchIndex]:
    opened: SearchIndex = request.param(tmp_path)
    yield opened
    opened.close()


def fill(index: SearchIndex, *records: Record, crawler: str = "athens", sequence: int = 1) -> int:
    changed = index.integrate(*package(records, crawler, sequence))
    index.commit()
    return changed


def found(index: SearchIndex, text: str, per_site: int = 0) -> list[str]:
    return [hit.url for hit in index.search(SearchRequest(text=text, per_site=per_site)).hits]


A, B, C = "http://a.example/", "http://b.example/", "http://c.example/docs/install.html"


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("crawler", [A]),
        ("crawlers", [A]),  # stemmed
        ("CRAWLER", [A]),
        ("naive", [B]),  # accents do not matter
        ("naïve", [B]),
        ("nothing", []),
        ("quick brown", [A, B]),
        ('"quick brown"', [A]),
        ('"brown quick"', [B]),
        ("brown -crawler", [B]),
        ("-crawler brown", [B]),
        ("crawler OR naive", [A, B]),
        ("(crawler OR naive) quick", [A, B]),
        ("brown AND crawler", [A]),
        ("site:a.example", [A]),
        ("site:example brown", [A, B]),
        ("brown -site:a.example", [B]),
        ("lang:de", [C]),
        ("inurl:install", [C]),
        ("inurl:docs/install", [C]),
        ("intitle:first", [A]),
        ("häuser", [C]),
        ("haus", [C]),  # German stemming: Häuser
        ("after:2020", [B]),
        ("before:2020 brown", []),
        ("after:2019-12-31 before:2020-01-03", [B]),
        ("near:athens brown", [A, B]),
        ("near:paris", []),
        ("", []),
        ("-", []),
        ("()", []),
        ('""', []),
    ],
)
def test_a_question_finds_what_it_asks_for(index: SearchIndex, text: str, urls: list[str]) -> None:
    dated = '<meta property="article:modified_time" content="2020-01-02">'
    fill(
        index,
        seen(A, "First page", "A quick brown crawler."),
        seen(B, "Second page", "A brown quick naïve fox.", head=dated),
        seen(C, "Installation", "Die alten Häuser.", language="de"),
    )
    assert sorted(found(index, text)) == sorted(urls)


@pytest.mark.parametrize("text", ["日本", "東京都", "天気", "서울"])
def test_text_without_spaces_is_found(index: SearchIndex, text: str) -> None:
    fill(
        index,
        seen(A, "日本語", "今日は東京都の天気がいいです。", language="ja"),
        seen(B, "한국어", "오늘 서울의 날씨", language="ko"),
    )
    assert found(index, text) == ([B] if text == "서울" else [A])


@pytest.mark.parametrize(
    ("language", "text", "word"),
    [
        ("th", "วันนี้อากาศดีมากในกรุงเทพมหานคร", "อากาศ"),
        ("lo", "ມື້ນີ້ອາກາດດີຫຼາຍຢູ່ວຽງຈັນ", "ອາກາດ"),
        ("km", "ថ្ងៃនេះអាកាសធាតុល្អណាស់នៅភ្នំពេញ", "អាកាសធាតុ"),
        ("my", "ယနေ့ရန်ကုန်တွင်ရာသီဥတုကောင်းသည်", "ရာသီဥတု"),
        ("zh", "今天北京的天气非常好", "天气"),
    ],
)
def test_a_word_inside_a_text_without_spaces_is_found(
    index: SearchIndex, language: str, text: str, word: str
) -> None:
    fill(index, seen(A, "x", f"<p>{text}</p>", language=language), seen(B, "y", "<p>other</p>"))
    assert found(index, word) == [A]
    assert found(index, word[::-1]) == []


def test_a_word_counts_most_in_the_title(index: SearchIndex) -> None:
    filler = "other words that make a text " * 5
    fill(
        index,
        seen(A, "about nothing", f"<p>{filler} zebra"),
        seen(B, "zebra", f"<p>{filler}"),
        seen(C, "about nothing", f"<h2>zebra</h2><p>{filler}"),
    )
    assert found(index, "zebra") == [B, C, A]


def test_a_page_is_found_by_what_links_to_it_say(index: SearchIndex) -> None:
    fill(index, seen(B, "target", "some text"))
    assert found(index, "pelican") == []
    fill(index, seen(A, "source", f'<a href="{B}">pelican</a>'), sequence=2)
    assert sorted(found(index, "pelican")) == sorted([A, B]), "in an order of the engine's own"
    fill(index, seen(A, "source", "no link any more", visit=2), sequence=3)
    assert found(index, "pelican") == []


def test_of_two_equal_pages_the_one_that_others_link_to_is_first(index: SearchIndex) -> None:
    links = [seen(f"http://{name}.example/", name, f'<a href="{B}">x</a>') for name in ("d", "e", "f")]
    fill(index, seen(A, "walrus", "one text"), seen(B, "walrus", "two text"), *links)
    assert found(index, "walrus") == [B, A]


def test_a_site_that_sites_of_weight_link_to_counts_more(index: SearchIndex) -> None:
    """A and B have one link each; the one to B comes from a site that many link to."""
    hub, lonely = "http://hub.example/", "http://lonely.example/"
    voters = [
        seen(f"http://v{number}.example/", f"v{number}", f"<a href={hub}>x</a>") for number in range(6)
    ]
    fill(
        index,
        seen(A, "walrus", "one text"),
        seen(B, "walrus", "two text"),
        seen(hub, "hub", f"<a href={B}>x</a>"),
        seen(lonely, "lonely", f"<a href={A}>x</a>"),
        *voters,
    )
    assert found(index, "walrus") == [B, A]


def test_a_changed_page_is_found_changed_and_a_deleted_one_is_gone(index: SearchIndex) -> None:
    fill(index, seen(A, "before", "apples"))
    fill(index, seen(A, "after", "oranges", visit=2), sequence=2)
    assert (found(index, "apples"), found(index, "oranges")) == ([], [A])
    fill(index, gone(A, visit=3), sequence=3)
    assert (found(index, "oranges"), index.page_count()) == ([], 0)


def test_what_was_asked_before_is_answered_from_what_is_there_now(index: SearchIndex) -> None:
    fill(index, seen(A, "before", "apples"))
    assert found(index, "apples") == found(index, "apples") == [A]
    fill(index, seen(B, "another", "apples too"), sequence=2)
    assert sorted(found(index, "apples")) == [A, B]
    index.purge("athens")
    assert found(index, "apples") == []


LONG = "<p>a line that stays as it is</p>" * 20


def test_of_a_changed_page_what_changed_is_enough(index: SearchIndex) -> None:
    before = seen(A, "news", f"{LONG}<p>apples <a href={B}>pears</a>")
    after = seen(A, "news", f"{LONG}<p>oranges <a href={B}>pears</a>", visit=2)
    fill(index, before)
    assert fill(index, changed(before, after), sequence=2) == 1
    assert (found(index, "apples"), found(index, "oranges pears")) == ([], [A])
    assert fill(index, changed(before, after), sequence=3) == 0  # again
    third = seen(A, "news", f"{LONG}<p>cherries", visit=3)
    assert fill(index, changed(after, third), sequence=4) == 1
    assert (found(index, "oranges"), found(index, "cherries")) == ([], [A])
    assert index.wanted("athens") == []


def test_a_change_to_a_page_that_is_not_here_is_asked_for_whole(index: SearchIndex) -> None:
    before, after = seen(A, "news", f"{LONG}apples"), seen(A, "news", f"{LONG}oranges", visit=2)
    assert fill(index, changed(before, after), sequence=2) == 0
    assert (found(index, "oranges"), index.wanted("athens"), index.wanted("lima")) == ([], [A], [])
    whole = seen(A, "news", f"{LONG}oranges", visit=3)
    assert fill(index, whole, sequence=3) == 1
    assert (found(index, "oranges"), index.wanted("athens")) == ([A], [])
    assert fill(index, changed(before, after), sequence=2) == 0
    assert index.wanted("athens") == []  # late: nobody needs it any more


def test_what_arrives_twice_or_late_changes_nothing(index: SearchIndex) -> None:
    newer, older = seen(A, "newer", "oranges", visit=2), seen(A, "older", "apples", visit=1)
    assert fill(index, newer, sequence=2) == 1
    assert fill(index, newer, sequence=2) == 0
    assert fill(index, newer, sequence=3) == 0  # the same visit in another package
    assert fill(index, older, sequence=1) == 0
    assert fill(index, gone(A, visit=1), sequence=4) == 0
    assert (found(index, "oranges"), found(index, "apples"), index.page_count()) == ([A], [], 1)


def test_a_page_that_asks_to_stay_out_is_not_found(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "secret", head='<meta name=robots content="noindex">'))
    assert found(index, "secret") == []


def test_a_page_that_asks_for_no_snippet_shows_none(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "secret words", head='<meta name=robots content="nosnippet">'))
    assert index.search(SearchRequest(text="secret")).hits[0].snippet == ""


def test_a_crawler_that_took_a_page_over_without_its_history_is_heard(index: SearchIndex) -> None:
    url = "https://a.example/page"
    before = msgspec.structs.replace(seen(url, "before", "<p>walnut</p>", visit=9), fetched_at_ms=1_000)
    after = msgspec.structs.replace(seen(url, "after", "<p>hazelnut</p>", visit=1), fetched_at_ms=2_000)
    late = msgspec.structs.replace(seen(url, "late", "<p>chestnut</p>", visit=8), fetched_at_ms=900)
    for number, (record, crawler) in enumerate([(before, "athens"), (after, "lima"), (late, "athens")]):
        index.integrate(*package([record], crawler, number))
    index.commit()
    titles = [
        hit.title for hit in index.search(SearchRequest(text="walnut OR hazelnut OR chestnut")).hits
    ]
    assert titles == ["after"]


def test_a_crawler_that_lost_its_frontier_and_begins_anew_is_heard(index: SearchIndex) -> None:
    url = "https://a.example/page"
    before = msgspec.structs.replace(seen(url, "before", "<p>walnut</p>", visit=9), fetched_at_ms=1_000)
    after = msgspec.structs.replace(seen(url, "after", "<p>hazelnut</p>", visit=1), fetched_at_ms=2_000)
    last = msgspec.structs.replace(seen(url, "last", "<p>chestnut</p>", visit=2), fetched_at_ms=3_000)
    for number, record in enumerate([before, after, last]):
        index.integrate(*package([record], "athens", number))
    index.commit()
    titles = [
        hit.title for hit in index.search(SearchRequest(text="walnut OR hazelnut OR chestnut")).hits
    ]
    assert titles == ["last"]


def test_near_duplicates_are_folded_into_the_best(index: SearchIndex) -> None:
    text = " ".join(f"word{number * number % 97}" for number in range(400))
    fill(
        index,
        seen(A, "original", text),
        seen(B, "original", f"{text} copied"),
        seen(C, "other", "word1"),
    )
    answer = index.search(SearchRequest(text="word1", per_site=0))
    assert len(answer.hits) == 2
    assert {hit.url: hit.alike for hit in answer.hits}[C] == 0
    assert sum(hit.alike for hit in answer.hits) == 1


def test_a_site_shows_its_best_page_and_how_many_more_it_has(index: SearchIndex) -> None:
    pages = [seen(f"{A}{number}", "otter", f"otter {'text ' * number}") for number in range(5)]
    fill(index, *pages, seen(B, "otter", "otter too"))
    answer = index.search(SearchRequest(text="otter", per_site=1))
    assert sorted(hit.site for hit in answer.hits) == ["a.example", "b.example"]
    assert {hit.site: hit.more_from_site for hit in answer.hits} == {"a.example": 4, "b.example": 0}
    assert len(found(index, "otter", per_site=0)) == 6
    assert answer.total == 6


def test_three_pages_of_a_site_are_shown_where_several_sites_answer(index: SearchIndex) -> None:
    pages = [seen(f"{A}{number}", "otter", f"otter {'text ' * number}") for number in range(5)]
    fill(index, *pages, seen(B, "otter", "otter too"))
    hits = index.search(SearchRequest(text="otter")).hits
    assert sorted(hit.site for hit in hits) == ["a.example"] * 3 + ["b.example"]
    assert sum(hit.more_from_site for hit in hits) == 2


def test_a_site_that_answers_alone_is_not_folded(index: SearchIndex) -> None:
    pages = [seen(f"{A}{number}", "otter", f"otter {'text ' * number}") for number in range(9)]
    fill(index, *pages, seen(B, "fish", "no such animal"))
    hits = index.search(SearchRequest(text="otter")).hits
    assert len(hits) == 9
    assert {hit.more_from_site for hit in hits} == {0}


def test_where_no_page_has_all_words_the_answer_says_what_each_page_lacks(index: SearchIndex) -> None:
    fill(
        index,
        seen(A, "First page", "A quick brown crawler."),
        seen(C, "Installation", "Die alten Häuser.", language="de"),
    )
    answer = index.search(SearchRequest(text="crawler häuser"))
    assert {hit.url: hit.missing for hit in answer.hits} == {A: ["häuser"], C: ["crawler"]}
    answer = index.search(SearchRequest(text="how crawler vs walrus"))
    assert [hit.url for hit in answer.hits] == [A]
    assert answer.without == ["how", "vs", "walrus"]
    assert found(index, "crawler AND häuser") == found(index, "+crawler +häuser") == []
    assert found(index, "crawler häuser site:a.example") == [A]


def test_the_page_with_more_of_the_words_comes_first(index: SearchIndex) -> None:
    fill(
        index,
        seen(A, "one", "red green " * 9),
        seen(B, "two", "a red and green and blue thing"),
        seen(C, "three", "red red red " * 9),
    )
    assert found(index, "red green blue violet") == [B, A]  # half of the words at least
    assert found(index, "how is red green blue") == [B, A]
    assert found(index, "violet red") == [C, A, B]


def test_words_that_stand_together_count_more(index: SearchIndex) -> None:
    filler = "other words that make a text " * 3
    fill(
        index,
        seen(A, "x", f"<p>connection {filler} pool {filler}"),
        seen(B, "x", f"<p>{filler} connection pool {filler}"),
    )
    assert found(index, "connection pool") == [B, A]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("asyncio — Asynchronous I/O — Python docs", A),
        ("asyncio", A),
        ("Sorting HOW TO", B),
        ("sort", B),
        ("os.path.join", C),
        ("C++", B),
        ("__init__", A),
    ],
)
def test_the_page_that_is_called_so_comes_first(index: SearchIndex, text: str, url: str) -> None:
    body = "<p>asyncio sort init join os path C asynchronous i o python docs how to sorting</p>"
    others = [
        seen(f"http://other{number}.example/{number}", f"Page {number}", body * (number + 1))
        for number in range(9)
    ]
    fill(
        index,
        seen(A, "asyncio — Asynchronous I/O — Python docs", f"<h2>object.__init__()</h2>{body}"),
        seen(B, "Sorting HOW TO — Python docs", f"{body}<p>faster than C++ is"),
        seen(C, "os.path.join() — Python docs", body),
        *others,
    )
    assert found(index, text)[0] == url


def test_pages_of_a_rare_language_are_judged_by_the_mean_length_of_all(index: SearchIndex) -> None:
    """With one field a language, a page of a rare one would seem far longer than the mean, and score less."""
    words = "zebra and other words that stand in a text of an ordinary length here"
    english = [seen(f"http://e{number}.example/", f"t{number}", words) for number in range(60)]
    filler = words.removeprefix("zebra ")
    rare = seen(
        A,
        "talteet",
        "zebra ja muita sanoja jotka ovat tekstissä tavallisen pituisena tässä",
        language="fi",
    )
    fill(index, *english, rare, *[seen(f"{B}{n}", f"u{n}", filler) for n in range(60)])
    hits = index.search(SearchRequest(text="zebra", per_site=0, limit=100)).hits
    scores = {hit.url: hit.score for hit in hits}
    assert scores[A] >= 0.8 * scores["http://e7.example/"]


def test_a_page_and_its_canonical_twin_are_one_result_under_the_canonical_address(
    index: SearchIndex,
) -> None:
    text = " ".join(f"word{number * number % 97}" for number in range(100))
    twin = f"{A}print?id=1"
    fill(
        index,
        seen(
            twin, "otter otter otter", f"otter otter {text}", head=f'<link rel=canonical href="{A}page">'
        ),
        seen(f"{A}page", "otter", f"{text} otter"),
        seen(f"{A}liar", "otter", "unlike", head=f'<link rel=canonical href="{A}nothing">'),
    )
    hits = index.search(SearchRequest(text="otter", per_site=0)).hits
    assert sorted((hit.url, hit.alike) for hit in hits) == [(f"{A}liar", 0), (f"{A}page", 1)]


def test_a_site_can_be_named_with_its_port_and_a_type_by_its_ending(index: SearchIndex) -> None:
    local = "http://127.0.0.1:8101/guide.php"
    fill(index, seen(local, "x", "otter"), seen("http://127.0.0.1:8102/", "x", "otter two"))
    assert found(index, "otter site:127.0.0.1:8101") == [local]
    assert len(found(index, "otter site:127.0.0.1")) == 2
    assert found(index, "otter filetype:php") == [local]
    assert len(found(index, "otter filetype:html")) == 2
    assert found(index, "otter filetype:pdf") == []


def test_a_word_that_no_page_has_is_corrected_and_the_answer_says_so(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "the elephant walks"), seen(B, "y", "nobody walks"))
    answer = index.search(SearchRequest(text="elefant walks"))
    assert (answer.hits[0].url, answer.corrected) == (A, True)
    quoted = index.search(SearchRequest(text='"elefant" walks'))
    assert (quoted.hits, quoted.corrected) == ([], False)


def test_a_misspelt_question_is_answered_with_a_better_one(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "the elephant walks"))
    assert index.search(SearchRequest(text="elefant walks")).did_you_mean == "elephant walks"
    assert index.search(SearchRequest(text="elephnat")).did_you_mean == "elephant"
    assert index.search(SearchRequest(text="elephant")).did_you_mean == ""
    assert index.search(SearchRequest(text="xyzzy")).did_you_mean == ""


def test_a_hit_tells_when_and_by_whom_the_page_was_seen(index: SearchIndex) -> None:
    fill(index, seen(A, "Title", "hello", visit=7), crawler="nicosia")
    hit = index.search(SearchRequest(text="hello")).hits[0]
    assert (hit.crawler, hit.fetched_at_ms, hit.title, hit.language) == (
        "nicosia",
        7 * 86_400_000,
        "Title",
        "en",
    )


def test_nothing_of_a_page_reaches_an_answer_unescaped(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "&lt;script&gt;alert(1)&lt;/script&gt; needle &amp; &quot;hay&quot;"))
    snippet = index.search(SearchRequest(text="needle")).hits[0].snippet
    assert "<mark>needle</mark>" in snippet
    assert "<script" not in snippet.replace("<mark>", "")
    assert "&lt;script&gt;" in snippet


def test_results_can_be_paged_through(index: SearchIndex) -> None:
    fill(
        index, *[seen(f"http://s{number}.example/", "otter", f"otter n{number}") for number in range(30)]
    )
    pages = [
        hit.url
        for offset in range(0, 40, 10)
        for hit in index.search(SearchRequest(text="otter", offset=offset)).hits
    ]
    assert len(pages) == len(set(pages)) == 30


def test_a_question_beyond_the_caps_is_cut_and_says_so(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "word"))
    answer = index.search(SearchRequest(text="word " * 500))
    assert answer.partial
    assert answer.remarks
    assert [hit.url for hit in answer.hits] == [A]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(alphabet='ab"()-:ORsitelangnear*~^[]{}\\/ \0日é', max_size=200) | st.text(max_size=60)
)
def test_any_text_is_a_question(index: SearchIndex, text: str) -> None:
    if index.page_count() == 0:
        fill(index, seen(A, "ab", "a b site lang"))
    started_s = time.process_time()
    answer = index.search(SearchRequest(text=text))
    assert len(answer.hits) <= 1
    assert time.process_time() - started_s < 0.5


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("-crawlers site:example", [B, C]),  # in whichever language the word is not wanted
        ("(-häuser) OR fox", [A, B]),
        ("(crawlers OR häuser) page OR installation", [A, C]),
        ("brown (quick -fox)", [A]),
        ("brown -(quick crawler)", [B]),
        ('"first page" OR "second page"', [A, B]),
        ('page -"second page"', [A]),
    ],
)
def test_words_of_several_languages_are_combined_as_the_question_says(
    index: SearchIndex, text: str, urls: list[str]
) -> None:
    fill(
        index,
        seen(A, "First page", "A quick brown crawler."),
        seen(B, "Second page", "A brown quick fox."),
        seen(C, "Installation", "Die alten Häuser.", language="de"),
    )
    assert sorted(found(index, text)) == sorted(urls)


def test_results_beyond_what_is_looked_at_are_said_to_be_partial(index: SearchIndex) -> None:
    """A site with more pages than are looked at hides the others; the answer admits it."""
    pages = [seen(f"{A}{number}", "otter otter", f"otter {number}") for number in range(1_200)]
    fill(index, *pages, seen(B, "fish", "an otter far below " * 9))
    answer = index.search(SearchRequest(text="otter", limit=10))
    assert answer.total == 1_201
    assert answer.partial
    assert answer.remarks


def test_a_snippet_finds_the_words_far_down_in_a_long_text(index: SearchIndex) -> None:
    filler = "".join(f"<p>paragraph {number} of something else" for number in range(400))
    fill(index, seen(A, "long", f"{filler}<p>the needle is here"))
    assert "<mark>needle</mark>" in index.search(SearchRequest(text="needle")).hits[0].snippet


def test_hostile_questions_cost_little(index: SearchIndex) -> None:
    fill(index, *[seen(f"{A}{number}", f"t{number}", "a b c d e f g " * 50) for number in range(50)])
    for text in (
        "(" * 900,
        '"' * 900,
        "a OR " * 200,
        "-a " * 300,
        "(a OR (b OR (c OR (d OR (e OR (f" * 20,
        "a*" * 400,
        "-(a -(b -(c -(d" * 50,
    ):
        started_s = time.process_time()  # of this process: neighbours do not count
        index.search(SearchRequest(text=text))
        assert time.process_time() - started_s < 0.2

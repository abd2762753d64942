"""A query -> which pages are found: words, phrases, filters, languages, spelling."""

from __future__ import annotations

from ipmicra.model.search import SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.testing.index_contract.promises import INDEX, A, B, C, fill, found
from ipmicra.testing.page_records import seen

QUESTIONS: tuple[tuple[str, list[str]], ...] = (
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
)
COMBINATIONS = (
    ("-crawlers site:example", [B, C]),  # in whichever language the word is not wanted
    ("(-häuser) OR fox", [A, B]),
    ("(crawlers OR häuser) page OR installation", [A, C]),
    ("brown (quick -fox)", [A]),
    ("brown -(quick crawler)", [B]),
    ('"first page" OR "second page"', [A, B]),
    ('page -"second page"', [A]),
)
UNSPACED = (  # language, text, a word in it
    ("th", "วันนี้อากาศดีมากในกรุงเทพมหานคร", "อากาศ"),
    ("lo", "ມື້ນີ້ອາກາດດີຫຼາຍຢູ່ວຽງຈັນ", "ອາກາດ"),
    ("km", "ថ្ងៃនេះអាកាសធាតុល្អណាស់នៅភ្នំពេញ", "អាកាសធាតុ"),
    ("my", "ယနေ့ရန်ကုန်တွင်ရာသီဥတုကောင်းသည်", "ရာသီဥတု"),
    ("zh", "今天北京的天气非常好", "天气"),
)


@INDEX.promise
def a_question_finds_what_it_asks_for(index: SearchIndex) -> None:
    dated = '<meta property="article:modified_time" content="2020-01-02">'
    fill(
        index,
        seen(A, "First page", "A quick brown crawler."),
        seen(B, "Second page", "A brown quick naïve fox.", head=dated),
        seen(C, "Installation", "Die alten Häuser.", language="de"),
    )
    for text, urls in QUESTIONS:
        assert sorted(found(index, text)) == sorted(urls), text


@INDEX.promise
def words_of_several_languages_are_combined_as_the_question_says(index: SearchIndex) -> None:
    fill(
        index,
        seen(A, "First page", "A quick brown crawler."),
        seen(B, "Second page", "A brown quick fox."),
        seen(C, "Installation", "Die alten Häuser.", language="de"),
    )
    for text, urls in COMBINATIONS:
        assert sorted(found(index, text)) == sorted(urls), text


@INDEX.promise
def text_without_spaces_is_found(index: SearchIndex) -> None:
    fill(
        index,
        seen(A, "日本語", "今日は東京都の天気がいいです。", language="ja"),
        seen(B, "한국어", "오늘 서울의 날씨", language="ko"),
    )
    for text in ("日本", "東京都", "天気", "서울"):
        assert found(index, text) == ([B] if text == "서울" else [A]), text


@INDEX.promise
def a_word_inside_a_text_without_spaces_is_found(index: SearchIndex) -> None:
    pages = {word: f"http://{language}.example/" for language, _, word in UNSPACED}
    fill(
        index,
        *(seen(pages[word], "x", f"<p>{text}</p>", language=lang) for lang, text, word in UNSPACED),
        seen(B, "y", "<p>other</p>"),
    )
    for word, url in pages.items():
        assert found(index, word) == [url], word
        assert found(index, word[::-1]) == [], word


@INDEX.promise
def a_site_can_be_named_with_its_port_and_a_type_by_its_ending(index: SearchIndex) -> None:
    local = "http://127.0.0.1:8101/guide.php"
    fill(index, seen(local, "x", "otter"), seen("http://127.0.0.1:8102/", "x", "otter two"))
    assert found(index, "otter site:127.0.0.1:8101") == [local]
    assert len(found(index, "otter site:127.0.0.1")) == 2
    assert found(index, "otter filetype:php") == [local]
    assert len(found(index, "otter filetype:html")) == 2
    assert found(index, "otter filetype:pdf") == []


@INDEX.promise
def where_no_page_has_all_words_the_answer_says_what_each_page_lacks(index: SearchIndex) -> None:
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


@INDEX.promise
def a_word_that_no_page_has_is_corrected_and_the_answer_says_so(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "the elephant walks"), seen(B, "y", "nobody walks"))
    answer = index.search(SearchRequest(text="elefant walks"))
    assert (answer.hits[0].url, answer.corrected) == (A, True)
    quoted = index.search(SearchRequest(text='"elefant" walks'))
    assert (quoted.hits, quoted.corrected) == ([], False)


@INDEX.promise
def a_misspelt_question_is_answered_with_a_better_one(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "the elephant walks"))
    assert index.search(SearchRequest(text="elefant walks")).did_you_mean == "elephant walks"
    assert index.search(SearchRequest(text="elephnat")).did_you_mean == "elephant"
    assert index.search(SearchRequest(text="elephant")).did_you_mean == ""
    assert index.search(SearchRequest(text="xyzzy")).did_you_mean == ""

"""A query -> what a hit says of its page, and how alike pages become one hit."""

from __future__ import annotations

from ipmicra.model.search import SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.testing.index_contract.promises import INDEX, A, B, C, fill, found
from ipmicra.testing.page_records import seen


@INDEX.promise
def near_duplicates_are_folded_into_the_best(index: SearchIndex) -> None:
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


@INDEX.promise
def a_site_shows_its_best_page_and_how_many_more_it_has(index: SearchIndex) -> None:
    pages = [seen(f"{A}{number}", "otter", f"otter {'text ' * number}") for number in range(5)]
    fill(index, *pages, seen(B, "otter", "otter too"))
    answer = index.search(SearchRequest(text="otter", per_site=1))
    assert sorted(hit.site for hit in answer.hits) == ["a.example", "b.example"]
    assert {hit.site: hit.more_from_site for hit in answer.hits} == {"a.example": 4, "b.example": 0}
    assert len(found(index, "otter", per_site=0)) == 6
    assert answer.total == 6


@INDEX.promise
def three_pages_of_a_site_are_shown_where_several_sites_answer(index: SearchIndex) -> None:
    pages = [seen(f"{A}{number}", "otter", f"otter {'text ' * number}") for number in range(5)]
    fill(index, *pages, seen(B, "otter", "otter too"))
    hits = index.search(SearchRequest(text="otter")).hits
    assert sorted(hit.site for hit in hits) == ["a.example"] * 3 + ["b.example"]
    assert sum(hit.more_from_site for hit in hits) == 2


@INDEX.promise
def a_site_that_answers_alone_is_not_folded(index: SearchIndex) -> None:
    pages = [seen(f"{A}{number}", "otter", f"otter {'text ' * number}") for number in range(9)]
    fill(index, *pages, seen(B, "fish", "no such animal"))
    hits = index.search(SearchRequest(text="otter")).hits
    assert len(hits) == 9
    assert {hit.more_from_site for hit in hits} == {0}


@INDEX.promise
def a_page_and_its_canonical_twin_are_one_result_under_the_canonical_address(
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


@INDEX.promise
def a_page_that_asks_for_no_snippet_shows_none(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "secret words", head='<meta name=robots content="nosnippet">'))
    assert index.search(SearchRequest(text="secret")).hits[0].snippet == ""


@INDEX.promise
def a_hit_tells_when_and_by_whom_the_page_was_seen(index: SearchIndex) -> None:
    fill(index, seen(A, "Title", "hello", visit=7), crawler="nicosia")
    hit = index.search(SearchRequest(text="hello")).hits[0]
    assert (hit.crawler, hit.fetched_at_ms, hit.title, hit.language) == (
        "nicosia",
        7 * 86_400_000,
        "Title",
        "en",
    )


@INDEX.promise
def nothing_of_a_page_reaches_an_answer_unescaped(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "&lt;script&gt;alert(1)&lt;/script&gt; needle &amp; &quot;hay&quot;"))
    snippet = index.search(SearchRequest(text="needle")).hits[0].snippet
    assert "<mark>needle</mark>" in snippet
    assert "<script" not in snippet.replace("<mark>", "")
    assert "&lt;script&gt;" in snippet


@INDEX.promise
def results_can_be_paged_through(index: SearchIndex) -> None:
    fill(
        index, *[seen(f"http://s{number}.example/", "otter", f"otter n{number}") for number in range(30)]
    )
    pages = [
        hit.url
        for offset in range(0, 40, 10)
        for hit in index.search(SearchRequest(text="otter", offset=offset)).hits
    ]
    assert len(pages) == len(set(pages)) == 30


@INDEX.promise
def a_snippet_finds_the_words_far_down_in_a_long_text(index: SearchIndex) -> None:
    filler = "".join(f"<p>paragraph {number} of something else" for number in range(400))
    fill(index, seen(A, "long", f"{filler}<p>the needle is here"))
    assert "<mark>needle</mark>" in index.search(SearchRequest(text="needle")).hits[0].snippet

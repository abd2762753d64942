"""A query -> in which order the pages come."""

from __future__ import annotations

from ipmicra.model.search import SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.testing.index_contract.promises import INDEX, A, B, C, fill, found
from ipmicra.testing.page_records import seen

NAMES = (  # a query, and the page that is called so
    ("asyncio — Asynchronous I/O — Python docs", A),
    ("asyncio", A),
    ("Sorting HOW TO", B),
    ("sort", B),
    ("os.path.join", C),
    ("C++", B),
    ("__init__", A),
)


@INDEX.promise
def a_word_counts_most_in_the_title(index: SearchIndex) -> None:
    filler = "other words that make a text " * 5
    fill(
        index,
        seen(A, "about nothing", f"<p>{filler} zebra"),
        seen(B, "zebra", f"<p>{filler}"),
        seen(C, "about nothing", f"<h2>zebra</h2><p>{filler}"),
    )
    assert found(index, "zebra") == [B, C, A]


@INDEX.promise
def a_page_is_found_by_what_links_to_it_say(index: SearchIndex) -> None:
    fill(index, seen(B, "target", "some text"))
    assert found(index, "pelican") == []
    fill(index, seen(A, "source", f'<a href="{B}">pelican</a>'), sequence=2)
    assert sorted(found(index, "pelican")) == sorted([A, B]), "in an order of the engine's own"
    fill(index, seen(A, "source", "no link any more", visit=2), sequence=3)
    assert found(index, "pelican") == []


@INDEX.promise
def of_two_equal_pages_the_one_that_others_link_to_is_first(index: SearchIndex) -> None:
    links = [seen(f"http://{name}.example/", name, f'<a href="{B}">x</a>') for name in ("d", "e", "f")]
    fill(index, seen(A, "walrus", "one text"), seen(B, "walrus", "two text"), *links)
    assert found(index, "walrus") == [B, A]


@INDEX.promise
def a_site_that_sites_of_weight_link_to_counts_more(index: SearchIndex) -> None:
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


@INDEX.promise
def the_page_with_more_of_the_words_comes_first(index: SearchIndex) -> None:
    fill(
        index,
        seen(A, "one", "red green " * 9),
        seen(B, "two", "a red and green and blue thing"),
        seen(C, "three", "red red red " * 9),
    )
    assert found(index, "red green blue violet") == [B, A]  # half of the words at least
    assert found(index, "how is red green blue") == [B, A]
    assert found(index, "violet red") == [C, A, B]


@INDEX.promise
def words_that_stand_together_count_more(index: SearchIndex) -> None:
    filler = "other words that make a text " * 3
    fill(
        index,
        seen(A, "x", f"<p>connection {filler} pool {filler}"),
        seen(B, "x", f"<p>{filler} connection pool {filler}"),
    )
    assert found(index, "connection pool") == [B, A]


@INDEX.promise
def the_page_that_is_called_so_comes_first(index: SearchIndex) -> None:
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
    for text, url in NAMES:
        assert found(index, text)[0] == url, text


@INDEX.promise
def pages_of_a_rare_language_are_judged_by_the_mean_length_of_all(index: SearchIndex) -> None:
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

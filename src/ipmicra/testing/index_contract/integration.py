"""Packages in any order, once or twice -> what is in the index."""

from __future__ import annotations

from contextlib import closing

import msgspec

from ipmicra.model.search import SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.testing.index_contract.promises import DURABLE_INDEX, INDEX, A, B, OpenIndex, fill, found
from ipmicra.testing.page_records import changed, gone, package, seen

LONG = "<p>a line that stays as it is</p>" * 20


@INDEX.promise
def a_changed_page_is_found_changed_and_a_deleted_one_is_gone(index: SearchIndex) -> None:
    fill(index, seen(A, "before", "apples"))
    fill(index, seen(A, "after", "oranges", visit=2), sequence=2)
    assert (found(index, "apples"), found(index, "oranges")) == ([], [A])
    fill(index, gone(A, visit=3), sequence=3)
    assert (found(index, "oranges"), index.page_count()) == ([], 0)


@INDEX.promise
def what_was_asked_before_is_answered_from_what_is_there_now(index: SearchIndex) -> None:
    fill(index, seen(A, "before", "apples"))
    assert found(index, "apples") == found(index, "apples") == [A]
    fill(index, seen(B, "another", "apples too"), sequence=2)
    assert sorted(found(index, "apples")) == [A, B]
    index.purge("athens")
    assert found(index, "apples") == []


@INDEX.promise
def of_a_changed_page_what_changed_is_enough(index: SearchIndex) -> None:
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


@INDEX.promise
def a_change_to_a_page_that_is_not_here_is_asked_for_whole(index: SearchIndex) -> None:
    before, after = seen(A, "news", f"{LONG}apples"), seen(A, "news", f"{LONG}oranges", visit=2)
    assert fill(index, changed(before, after), sequence=2) == 0
    assert (found(index, "oranges"), index.wanted("athens"), index.wanted("lima")) == ([], [A], [])
    whole = seen(A, "news", f"{LONG}oranges", visit=3)
    assert fill(index, whole, sequence=3) == 1
    assert (found(index, "oranges"), index.wanted("athens")) == ([A], [])
    assert fill(index, changed(before, after), sequence=2) == 0
    assert index.wanted("athens") == []  # late: nobody needs it any more


@INDEX.promise
def what_arrives_twice_or_late_changes_nothing(index: SearchIndex) -> None:
    newer, older = seen(A, "newer", "oranges", visit=2), seen(A, "older", "apples", visit=1)
    assert fill(index, newer, sequence=2) == 1
    assert fill(index, newer, sequence=2) == 0
    assert fill(index, newer, sequence=3) == 0  # the same visit in another package
    assert fill(index, older, sequence=1) == 0
    assert fill(index, gone(A, visit=1), sequence=4) == 0
    assert (found(index, "oranges"), found(index, "apples"), index.page_count()) == ([A], [], 1)


@INDEX.promise
def a_page_that_asks_to_stay_out_is_not_found(index: SearchIndex) -> None:
    fill(index, seen(A, "x", "secret", head='<meta name=robots content="noindex">'))
    assert found(index, "secret") == []


@INDEX.promise
def a_crawler_that_took_a_page_over_without_its_history_is_heard(index: SearchIndex) -> None:
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


@INDEX.promise
def a_crawler_that_lost_its_frontier_and_begins_anew_is_heard(index: SearchIndex) -> None:
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


@INDEX.promise
def what_a_crawler_brought_can_be_taken_out(index: SearchIndex) -> None:
    fill(index, seen(A, "one", "apples"), crawler="athens")
    fill(index, seen(B, "two", "apples"), crawler="lima")
    assert index.purge("athens") == 1
    assert (found(index, "apples"), index.page(A), index.page_count()) == ([B], None, 1)


@INDEX.promise
def a_page_can_be_read_back_with_when_and_by_whom_it_was_seen(index: SearchIndex) -> None:
    record = seen(A, "one", "apples", visit=3)
    fill(index, record, crawler="lima")
    assert (index.page(A), index.page(B)) == (record.page, None)
    assert index.seen(A) == (record.page, "lima", record.fetched_at_ms)


@INDEX.promise
def packages_are_counted_once(index: SearchIndex) -> None:
    for sequence in (1, 2, 2):
        fill(index, seen(A, "one", "apples", visit=sequence), sequence=sequence)
    assert index.package_count() == 2


@DURABLE_INDEX.promise
def what_was_committed_is_there_when_the_index_is_opened_again(open_index: OpenIndex) -> None:
    record = seen(A, "one", "apples")
    with closing(open_index()) as index:
        fill(index, record)
    with closing(open_index()) as index:
        assert (found(index, "apples"), index.page(A), index.page_count()) == ([A], record.page, 1)
        assert fill(index, record) == 0, "a package that was integrated before has no effect"

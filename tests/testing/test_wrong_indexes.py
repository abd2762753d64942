"""An index that breaks a promise is refused, by that promise's name."""

from __future__ import annotations

import html
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from ipmicra.carrier.package import Package
from ipmicra.model.page import RobotsDirectives
from ipmicra.model.records import PageChanged, PageSeen, Record
from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing import DURABLE_INDEX, INDEX, PromiseBroken, check_index
from ipmicra.testing.index_contract import (
    finding,
    hits,
    integration,
    limits,
    new_folder,
    new_index,
    ranking,
)


class Spoiled:
    """A right index of which some methods were replaced. A replacement gets the right index first."""

    def __init__(self, folder: Path, **replaced: Callable[..., Any]) -> None:
        self._right = TantivyIndex(folder, writable=True)
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        if name in self._replaced:
            return lambda *given: self._replaced[name](self._right, *given)
        return getattr(self._right, name)


def spoiled(**replaced: Callable[..., Any]) -> Callable[[Path], SearchIndex]:
    return lambda folder: cast(SearchIndex, Spoiled(folder, **replaced))


def answering(**fields: Any) -> Callable[[Path], SearchIndex]:
    """The answers have other fields."""
    return spoiled(search=lambda right, asked: msgspec.structs.replace(right.search(asked), **fields))


def hitting(change: Callable[[Hit], Hit]) -> Callable[[Path], SearchIndex]:
    """Each hit is changed."""

    def search(right: SearchIndex, asked: SearchRequest) -> SearchAnswer:
        answer = right.search(asked)
        return msgspec.structs.replace(answer, hits=[change(hit) for hit in answer.hits])

    return spoiled(search=search)


def hits_with(**fields: Any) -> Callable[[Path], SearchIndex]:
    return hitting(lambda hit: msgspec.structs.replace(hit, **fields))


def asked_with(**fields: Any) -> Callable[[Path], SearchIndex]:
    """Something of the request is ignored."""
    return spoiled(search=lambda right, asked: right.search(msgspec.structs.replace(asked, **fields)))


def taking(change: Callable[[Record], Record | None]) -> Callable[[Path], SearchIndex]:
    """Records are changed, or left out."""

    def integrate(right: SearchIndex, package: Package, digest: str) -> int:
        records = [new for record in package.records if (new := change(record)) is not None]
        return right.integrate(package._replace(records=records), digest)

    return spoiled(integrate=integrate)


def shown_to_all(record: Record) -> Record:
    if isinstance(record, PageSeen):
        page = msgspec.structs.replace(record.page, robots=RobotsDirectives())
        return msgspec.structs.replace(record, page=page)
    return record


def without_links(record: Record) -> Record:
    if isinstance(record, PageSeen):
        return msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, links=[]))
    return record


def cached() -> Callable[[Path], SearchIndex]:
    answers: dict[str, SearchAnswer] = {}

    def search(right: SearchIndex, asked: SearchRequest) -> SearchAnswer:
        if asked.text not in answers:
            answers[asked.text] = right.search(asked)
        return answers[asked.text]

    return spoiled(search=search)


def reversed_order(right: SearchIndex, asked: SearchRequest) -> SearchAnswer:
    answer = right.search(asked)
    return msgspec.structs.replace(answer, hits=answer.hits[::-1])


def slowly(right: SearchIndex, asked: SearchRequest) -> SearchAnswer:
    end_s = time.process_time() + 0.6
    while time.process_time() < end_s:
        pass
    return right.search(asked)


def forgetful(folder: Path) -> SearchIndex:
    return TantivyIndex(Path(tempfile.mkdtemp(dir=folder)), writable=True)


BACKWARDS = spoiled(search=reversed_order)
WRONG: dict[str, Callable[[Path], SearchIndex]] = {
    "a_question_finds_what_it_asks_for": answering(hits=[]),
    "a_word_that_no_page_has_is_corrected_and_the_answer_says_so": answering(corrected=False),
    "a_misspelt_question_is_answered_with_a_better_one": answering(did_you_mean=""),
    "where_no_page_has_all_words_the_answer_says_what_each_page_lacks": hits_with(missing=[]),
    "a_word_counts_most_in_the_title": BACKWARDS,
    "a_page_is_found_by_what_links_to_it_say": taking(without_links),
    "of_two_equal_pages_the_one_that_others_link_to_is_first": BACKWARDS,
    "a_site_that_sites_of_weight_link_to_counts_more": BACKWARDS,
    "the_page_with_more_of_the_words_comes_first": BACKWARDS,
    "words_that_stand_together_count_more": BACKWARDS,
    "the_page_that_is_called_so_comes_first": BACKWARDS,
    "pages_of_a_rare_language_are_judged_by_the_mean_length_of_all": hitting(
        lambda hit: msgspec.structs.replace(hit, score=0.0 if hit.language == "fi" else hit.score)
    ),
    "a_changed_page_is_found_changed_and_a_deleted_one_is_gone": cached(),
    "what_was_asked_before_is_answered_from_what_is_there_now": cached(),
    "of_a_changed_page_what_changed_is_enough": taking(
        lambda record: None if isinstance(record, PageChanged) else record
    ),
    "a_change_to_a_page_that_is_not_here_is_asked_for_whole": spoiled(wanted=lambda right, who: []),
    "what_arrives_twice_or_late_changes_nothing": spoiled(
        integrate=lambda right, package, digest: right.integrate(package, digest) or 1
    ),
    "a_page_that_asks_to_stay_out_is_not_found": taking(shown_to_all),
    "what_a_crawler_brought_can_be_taken_out": spoiled(purge=lambda right, who: 1),
    "a_page_can_be_read_back_with_when_and_by_whom_it_was_seen": spoiled(page=lambda right, url: None),
    "packages_are_counted_once": spoiled(package_count=lambda right: 3),
    "near_duplicates_are_folded_into_the_best": hits_with(alike=0),
    "a_site_shows_its_best_page_and_how_many_more_it_has": hits_with(more_from_site=0),
    "three_pages_of_a_site_are_shown_where_several_sites_answer": asked_with(per_site=1),
    "a_site_that_answers_alone_is_not_folded": hits_with(more_from_site=8),
    "a_page_and_its_canonical_twin_are_one_result_under_the_canonical_address": hits_with(alike=0),
    "a_page_that_asks_for_no_snippet_shows_none": taking(shown_to_all),
    "a_hit_tells_when_and_by_whom_the_page_was_seen": hits_with(crawler=""),
    "nothing_of_a_page_reaches_an_answer_unescaped": hitting(
        lambda hit: msgspec.structs.replace(hit, snippet=html.unescape(hit.snippet))
    ),
    "results_can_be_paged_through": asked_with(offset=0),
    "a_snippet_finds_the_words_far_down_in_a_long_text": hits_with(snippet=""),
    "a_question_beyond_the_caps_is_cut_and_says_so": answering(partial=False),
    "any_text_is_a_question": spoiled(
        search=lambda right, asked: right.search(asked) if "(" not in asked.text else 1 // 0
    ),
    "results_beyond_what_is_looked_at_are_said_to_be_partial": answering(partial=False),
    "hostile_questions_cost_little": spoiled(search=slowly),
}


@pytest.mark.parametrize("promise", WRONG)
def test_a_wrong_index_is_refused_by_name(promise: str) -> None:
    with pytest.raises(PromiseBroken) as broken:
        INDEX.check_promise(promise, lambda: new_index(WRONG[promise]))
    assert broken.value.promise == promise
    assert isinstance(broken.value.__cause__, AssertionError | ZeroDivisionError)


def test_an_index_that_forgets_when_it_is_closed_is_refused() -> None:
    with pytest.raises(PromiseBroken, match="opened again"):
        DURABLE_INDEX.check(lambda: new_folder(forgetful))


def test_the_whole_check_refuses_a_wrong_index() -> None:
    with pytest.raises(PromiseBroken, match="a search index must keep"):
        check_index(answering(hits=[]))


def test_the_contract_has_the_promises_of_every_module() -> None:
    modules = {module.__name__ for module in (finding, hits, integration, limits, ranking)}
    assert {promise.__module__ for promise in INDEX.promises.values()} == modules

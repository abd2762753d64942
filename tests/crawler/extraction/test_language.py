"""Languages: what was judged alike often enough is judged now and then, and a change is noticed."""

from __future__ import annotations

from ipmicra.crawler.extraction.language import UsualLanguages, judged, language_of

GERMAN = "Der Hund und die Katze sind nicht im Garten, sondern schlafen auf dem Sofa."
ENGLISH = "The quick brown fox jumps over the lazy dog, and nobody knows the reason why."
FOLDER = "http://site.example/folder"


def test_every_page_is_judged_until_enough_in_a_row_agree() -> None:
    usual = UsualLanguages(in_a_row=4, every=3)
    texts = [GERMAN, GERMAN, ENGLISH, GERMAN]
    found = [language_of("", text, usual, f"{FOLDER}/{number}") for number, text in enumerate(texts)]
    assert found == ["de", "de", "en", "de"]


def test_a_folder_that_changes_its_language_is_noticed_after_a_few_pages() -> None:
    usual = UsualLanguages(in_a_row=4, every=3)
    before = [language_of("", GERMAN, usual, f"{FOLDER}/{number}") for number in range(6)]
    after = [language_of("", ENGLISH, usual, f"{FOLDER}/{number}") for number in range(6, 12)]
    assert before == ["de"] * 6
    assert after[3:] == ["en"] * 3


def test_folders_are_judged_apart_and_a_declared_language_needs_no_judging() -> None:
    usual = UsualLanguages(in_a_row=1, every=100)
    for number in range(5):
        assert language_of("", GERMAN, usual, f"{FOLDER}/{number}") == "de"
    assert language_of("", ENGLISH, usual, "http://site.example/other/1") == judged(ENGLISH) == "en"
    assert language_of("fr-CA", GERMAN, usual, f"{FOLDER}/6") == "fr"
    assert language_of("", "too short", usual, f"{FOLDER}/7") == ""

"""Forms of a question: all content words first, then fewer; stop words by the question's language."""

from __future__ import annotations

import pytest

from ipmicra.search.query.query_parser import parse_query
from ipmicra.search.query.relaxation import forms
from ipmicra.search.query.stop_words import stop_words_in


@pytest.mark.parametrize(
    ("question", "stops"),
    [
        ("how to read a file", {"how", "to", "a"}),
        ("threading lock vs RLock", {"vs"}),
        ("to be or not to be", set()),
        ("the who", set()),
        ("wie kann man eine Datei lesen", {"wie", "kann", "man", "eine"}),
        ("comment lire un fichier", {"comment", "un"}),
        ("cómo leer un archivo", {"cómo", "un"}),
        ("как прочитать файл", {"как"}),
        ("hoe lees ik een bestand", {"hoe", "ik", "een"}),
        ("WHO guidelines", set()),
        ("IT department", set()),
        ("vitamin e supplement dose", set()),
        ("json", set()),
        ("", set()),
    ],
)
def test_stop_words_are_those_of_the_language_of_the_question(question: str, stops: set[str]) -> None:
    assert stop_words_in(question.split()) == stops


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("one", [1]),
        ("one two", [2, 1]),
        ("one two three", [3, 2, 1]),
        ("how one two", [2, 1]),
        ('"one two" three', [1]),
        ("+one two", [1]),
        ("one AND two", [0]),
        ("os.path", [1, 2, 1]),  # together, then both, then one of them
        ("-one two", [1]),
        ("", [0]),
    ],
)
def test_each_form_wants_fewer_of_the_plain_words(question: str, wanted: list[int]) -> None:
    assert [form.wanted for form in forms(parse_query(question))] == wanted


def test_a_long_question_has_few_forms() -> None:
    assert len(list(forms(parse_query(" ".join(f"w{n}" for n in range(30)))))) <= 7

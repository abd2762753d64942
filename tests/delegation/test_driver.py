"""The one loop that drives generators: sync, async, and by asking further."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from ipmicra.delegation.driver import drive, drive_async, drive_by_asking


def two_questions() -> Generator[str, int, int]:
    first = yield "one"
    second = yield "two"
    return 10 * first + second


def no_question() -> Generator[str, int, int]:
    yield from ()
    return 7


ANSWERS = {"one": 1, "two": 2}


def test_questions_are_answered_in_their_order() -> None:
    asked: list[str] = []

    def answer(question: str) -> int:
        asked.append(question)
        return ANSWERS[question]

    assert drive(two_questions(), answer) == 12
    assert asked == ["one", "two"]
    assert drive(no_question(), answer) == 7
    assert len(asked) == 2


def test_a_generator_that_has_asked_already_is_driven_on() -> None:
    asking = two_questions()
    assert next(asking) == "one"
    assert drive(asking, ANSWERS.__getitem__, reply=4) == 42


def test_answers_may_take_a_while() -> None:
    async def answer(question: str) -> int:
        await asyncio.sleep(0)
        return ANSWERS[question]

    assert asyncio.run(drive_async(two_questions(), answer)) == 12
    assert asyncio.run(drive_async(no_question(), answer)) == 7


def test_an_answer_may_be_found_by_asking_further() -> None:
    def ask_further(question: str) -> Generator[tuple[str, str], int, int]:
        reply = yield ("outer", question)
        return reply + 1

    assert drive(drive_by_asking(two_questions(), ask_further), lambda asked: len(asked[1])) == 44

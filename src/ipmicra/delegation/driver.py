"""A generator that yields questions, and a function that answers them -> the generator's result.

Strategies yield probes, balancing policies yield queries. Invariant: questions are answered one by one, in
the order in which they are asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

Question = TypeVar("Question")
Reply = TypeVar("Reply")
Result = TypeVar("Result")
OuterQuestion = TypeVar("OuterQuestion")
OuterReply = TypeVar("OuterReply")


def drive(
    asking: Generator[Question, Reply, Result],
    answer: Callable[[Question], Reply],
    *,
    reply: Reply | None = None,
) -> Result:
    """Run a generator to its end. `reply` answers a question that it has asked already."""
    try:
        question = next(asking) if reply is None else asking.send(reply)
        while True:
            question = asking.send(answer(question))
    except StopIteration as end:
        result: Result = end.value
        return result


async def drive_async(
    asking: Generator[Question, Reply, Result], answer: Callable[[Question], Awaitable[Reply]]
) -> Result:
    """The same where answers take a while."""
    try:
        question = next(asking)
        while True:
            question = asking.send(await answer(question))
    except StopIteration as end:
        result: Result = end.value
        return result


def drive_by_asking(
    asking: Generator[Question, Reply, Result],
    answer: Callable[[Question], Generator[OuterQuestion, OuterReply, Reply]],
) -> Generator[OuterQuestion, OuterReply, Result]:
    """Drive a generator where finding an answer yields further questions to the caller."""
    try:
        question = next(asking)
        while True:
            reply = yield from answer(question)
            question = asking.send(reply)
    except StopIteration as end:
        result: Result = end.value
        return result

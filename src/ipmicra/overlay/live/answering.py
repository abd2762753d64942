"""An operator's question to a running peer -> its answer, which may have to come from another peer."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

from ipmicra.overlay.can.messages import Homed, Locate, Located, Message, Routed, Submit
from ipmicra.overlay.live.spoken import Answer, AskStatus, AskToSubmit, AskWhoOwns, Question, Status

if TYPE_CHECKING:
    from ipmicra.overlay.live.node import Node


class Answering:
    """The questions that one node has open."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._numbers = itertools.count()
        self._waiting: dict[str, asyncio.Future[Homed | Located]] = {}

    async def answer(self, question: Question) -> Answer:
        match question:
            case AskStatus():
                return self.status()
            case AskToSubmit():
                letter = Routed(question.record.key, Submit(question.record))
                return await self._expected(f"home {question.record.site}", letter)
            case AskWhoOwns():
                name = f"owner {next(self._numbers)}"
                letter = Routed(question.key, Locate(self._node.peer.card, name))
                return await self._expected(name, letter)

    async def _expected(self, name: str, letter: Routed) -> Homed | Located:
        """Send a letter by way of myself and wait for what comes back; whoever asks gives up first."""
        waiting = self._waiting.setdefault(name, asyncio.get_running_loop().create_future())
        self._node.take_in(letter)
        return await asyncio.shield(waiting)

    def noticed(self, message: Message) -> None:
        """A message came in that may answer something."""
        match message:
            case Homed():
                waiting = self._waiting.pop(f"home {message.site}", None)
            case Located():
                waiting = self._waiting.pop(message.question, None)
            case _:
                return
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    def status(self) -> Status:
        node, peer = self._node, self._node.peer
        return Status(
            peer.card,
            node.space,
            tuple(peer.table.cards()),
            tuple(sorted(peer.book.homed)),
            tuple(sorted(peer.book.crawled)),
            peer.letters_lost,
            node.frames_refused,
        )

"""What goes over the wire beside the protocol's own messages: an operator's questions and their answers.

Law: plain records. An answer is sealed to the mark of its question's frame, so that it answers no other.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ipmicra.overlay.can.box import Box, Point
from ipmicra.overlay.can.messages import Card, Homed, Located, Message, SiteRecord


class AskStatus(msgspec.Struct, frozen=True, tag=True):
    """To one peer: what do you know?"""


class Status(msgspec.Struct, frozen=True, tag=True):
    """What a peer says of itself to an operator."""

    card: Card
    space: Box
    neighbours: tuple[Card, ...]
    homed: tuple[str, ...]
    crawled: tuple[str, ...]
    letters_lost: int
    frames_refused: int = 0


class AskToSubmit(msgspec.Struct, frozen=True, tag=True):
    """To any peer: take this site in. Answered `Homed` when its home has it."""

    record: SiteRecord


class AskWhoOwns(msgspec.Struct, frozen=True, tag=True):
    """To any peer: who owns this place? Answered `Located`, with the hops it took."""

    key: Point


Question: TypeAlias = AskStatus | AskToSubmit | AskWhoOwns
Answer: TypeAlias = Status | Homed | Located
Spoken: TypeAlias = Message | AskStatus | AskToSubmit | AskWhoOwns | Status

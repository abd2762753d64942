"""Commands for the code in a sandbox -> its replies, over the control channel.

Invariant: nothing that comes back is trusted. It is checked against its type and size, and changes only
figures and the replies that are waited for. Any other message ends the session.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import msgspec

from ipmicra.errors import HostFault
from ipmicra.protocol import guest_messages
from ipmicra.protocol.guest_messages import GuestCommand, GuestReply, GuestRequest, StatusUpdate


class SandboxExited(HostFault):
    """The code in the sandbox has exited, or does not answer."""


class ControlChannel:
    """One control channel. `on_status` receives status updates, `on_end` is called when it is over."""

    def __init__(self, on_status: Callable[[StatusUpdate], None], on_end: Callable[[str], None]) -> None:
        self._on_status, self._on_end = on_status, on_end
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._last = 0
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None

    async def open(self, channel: socket.socket) -> None:
        reader, self._writer = await asyncio.open_unix_connection(sock=channel)
        self._listening = asyncio.create_task(self._listen(reader))

    def post(self, command: GuestCommand) -> asyncio.Future[str]:
        """Send a command without waiting. Commands are executed in the order in which they are sent."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_retrieve_exception)
        if self._writer is None or self._writer.is_closing():
            answer.set_exception(SandboxExited("the crawler's code has exited"))
            return answer
        self._last += 1
        self._waiting[self._last] = answer
        self._writer.write(guest_messages.encode_frame(GuestRequest(self._last, command)))
        return answer

    async def request(self, command: GuestCommand, seconds_max: float) -> str:
        """Raises SandboxExited, and HostFault if the code could not do it."""
        try:
            async with asyncio.timeout(seconds_max):
                return await self.post(command)
        except TimeoutError:
            kind = type(command).__name__.lower()
            raise SandboxExited(f"the crawler's code did not {kind} within {seconds_max:g} s") from None

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        if self._writer is not None:
            self._writer.close()
        self._fail_waiting()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        why = "the crawler's code closed the channel"
        try:
            while True:
                frame = await guest_messages.next_frame(reader, guest_messages.MESSAGE_BYTES_MAX)
                if frame is None:
                    break
                self._on_message(guest_messages.decode_message(frame))
        except (msgspec.MsgspecError, ValueError) as error:
            why = f"the crawler's code sent an invalid message: {error}"
        self._fail_waiting()
        self._on_end(why)

    def _on_message(self, message: guest_messages.GuestMessage) -> None:
        if isinstance(message, StatusUpdate):
            self._on_status(message)
            return
        answer = self._waiting.pop(message.number, None)
        if answer is not None and not answer.done():
            _resolve(answer, message)

    def _fail_waiting(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(SandboxExited("the crawler's code has exited"))


def _resolve(answer: asyncio.Future[str], done: GuestReply) -> None:
    if done.fault:
        answer.set_exception(HostFault(done.fault))
    else:
        answer.set_result(done.answer)


def _retrieve_exception(answer: asyncio.Future[str]) -> None:
    """Mark the exception as retrieved: a reply without a waiting request is not an error."""
    if not answer.cancelled():
        answer.exception()

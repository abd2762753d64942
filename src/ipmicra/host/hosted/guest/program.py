"""The program in a sandbox: settings, a state folder, two sockets -> a crawler that executes the
host's commands.

    python -m ipmicra.host.hosted.guest.program --settings FILE --state FOLDER --control N --broker N

Invariant: commands are executed one after the other, in their order; it ends when the host closes the
channel.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import assert_never

import msgspec
import uvloop

from ipmicra.crawler.crawl import fetcher_for, tune_process
from ipmicra.crawler.parsing.own_process import die_with_parent
from ipmicra.errors import Fault, HostFault
from ipmicra.host.broker.client import BrokerClient
from ipmicra.host.hosted.guest.guest_config import (
    GuestConfig,
    read_config,
    read_settings,
    settings_in,
)
from ipmicra.host.hosted.guest.limiter import GuestLimiter
from ipmicra.host.hosted.in_process import InProcessCrawler
from ipmicra.host.hosted.interface import HeldSites
from ipmicra.host.settings import HostingSettings
from ipmicra.host.store import HeldSite
from ipmicra.model.fetches import Fetcher
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.struct_types import build_struct_types
from ipmicra.model.urls import Site
from ipmicra.protocol import guest_messages
from ipmicra.protocol.guest_messages import GuestCommand, GuestReply, StatusUpdate
from ipmicra.protocol.host_messages import PROTOCOL, encode_missing_times

STATUS_SECONDS = 0.4
MEASURED_AT_ONCE = 500
EVERYWHERE = ("0.0.0.0/0", "::/0")  # the broker decides


class GuestProgram:
    """One crawler behind a control channel."""

    def __init__(
        self, crawler: InProcessCrawler, meter: GuestLimiter, writer: asyncio.StreamWriter, protocol: int
    ) -> None:
        """`protocol` is the version of the messages that the host understands."""
        self._crawler, self._meter, self._writer = crawler, meter, writer
        self._protocol = protocol

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Until the host closes the channel. The first message is the status before anything is
        fetched.
        """
        self._send(self._status())
        status_updates, observing = (
            asyncio.create_task(self._send_status_updates()),
            set[asyncio.Task[None]](),
        )
        try:
            while (frame := await guest_messages.next_frame(reader)) is not None:
                request = guest_messages.read_request(frame)
                if isinstance(request.order, guest_messages.ObservePage):  # it waits for a site's turn
                    observing.add(observation := asyncio.create_task(self._answer(request)))
                    observation.add_done_callback(observing.discard)
                else:
                    await self._answer(request)
        finally:
            for task in (status_updates, *observing):
                task.cancel()
            await asyncio.wait([status_updates, *observing])

    async def _answer(self, request: guest_messages.ReceivedRequest) -> None:
        try:
            reply = GuestReply(request.number, await self._execute(request.order))
        except Fault as fault:
            reply = GuestReply(request.number, fault=str(fault))
        self._send(reply)

    async def _execute(self, command: GuestCommand | guest_messages.UnknownCommand) -> str:
        crawler = self._crawler
        match command:
            case guest_messages.AddSite(site=site, address=address):
                crawler.add_site(HeldSite(site, SiteEpoch(0), address))
            case guest_messages.EnqueueUrls(urls=urls):
                await crawler.enqueue(urls)
            case guest_messages.ResendPages(urls=urls):
                await crawler.force_full_resend(urls)
            case guest_messages.ImportSite(state=state):
                return await crawler.import_site(state)
            case guest_messages.ExportSite(site=site, epoch=epoch):
                return await crawler.export_site(Site(site), epoch) or ""
            case guest_messages.ForgetSite(site=site):
                await crawler.forget_site(Site(site))
            case guest_messages.Work(settings=settings):
                crawler.settings = read_settings(settings)
                self._meter.apply(crawler.settings.host)
                crawler.start()
            case guest_messages.Drain():
                crawler.drain()
            case guest_messages.Stop(grace_seconds=grace_seconds):
                await crawler.stop(grace_seconds)
                self._send(self._status())
            case guest_messages.SealPackages():
                return "sealed" if await crawler.seal() else ""
            case guest_messages.ObservePage(url=url):
                return msgspec.json.encode(await crawler.observe(url)).decode()
            case guest_messages.NextPackage():
                return str(await crawler.next_package())
            case guest_messages.UnknownCommand(why=why):
                raise HostFault(f"the crawler's code does not understand a command: {why}")
            case never:
                assert_never(never)
        return ""

    async def _send_status_updates(self) -> None:
        while True:
            await asyncio.sleep(STATUS_SECONDS)
            self._send(self._status())

    def _status(self) -> StatusUpdate:
        ended = ""
        try:
            self._crawler.check()
        except Exception as error:
            ended = f"{type(error).__name__}: {error}"
        counts = self._crawler.counts()
        taken = self._meter.round_trips.drain(MEASURED_AT_ONCE)
        measured = encode_missing_times(self._protocol, taken)
        working = self._crawler.is_working
        return StatusUpdate(working, ended, counts.pages, counts.pending, measured, PROTOCOL)

    def _send(self, message: GuestReply | StatusUpdate) -> None:
        self._writer.write(guest_messages.encode_frame(message))


def brokered_fetcher(broker: BrokerClient, settings: HostingSettings, _: HeldSites) -> Fetcher:
    """A fetcher that lets the broker resolve, decide and connect."""
    fetching = msgspec.structs.replace(settings.fetching, open_ranges=EVERYWHERE, closed_ranges=())
    return fetcher_for(settings.crawler, fetching, broker, broker)


async def run_guest(
    config: GuestConfig, state: Path, control: socket.socket, broker: socket.socket
) -> None:
    build_struct_types()
    settings = settings_in(config.settings)
    client, meter = BrokerClient(broker), GuestLimiter(settings.host)
    crawler = InProcessCrawler(
        state,
        config.name,
        settings,
        meter,
        partial(brokered_fetcher, client),
        parsers=config.parsers,
        was_ended=config.was_ended,
    )
    try:
        reader, writer = await asyncio.open_unix_connection(sock=control)
        try:
            await GuestProgram(crawler, meter, writer, config.protocol).serve(reader)
        finally:
            await crawler.stop(0)
            writer.close()
    finally:
        await crawler.close()
        client.disconnect()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--broker", type=int, required=True)
    options = parser.parse_args(arguments)
    config = read_config(options.settings.read_bytes())
    if config.parsers is not None:  # no sandbox sees to it
        die_with_parent(os.getppid())
    tune_process()
    with (
        socket.socket(fileno=options.control) as control,
        socket.socket(fileno=options.broker) as broker,
    ):
        uvloop.run(run_guest(config, options.state, control, broker))


if __name__ == "__main__":
    main()

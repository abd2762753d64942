"""The program in a sandbox: settings, a state folder, two sockets -> a crawler that does as the dock says.

    python -m ipmicra.host.hosted.guest.program --settings FILE --state FOLDER --control N --broker N

Law: orders are done one after the other, in the order in which they came; it ends when the dock hangs up.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import assert_never

import msgspec
import uvloop

from ipmicra.crawler.crawl import fetcher_for, tune_process
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
from ipmicra.model.urls import Site
from ipmicra.protocol import guest_messages
from ipmicra.protocol.guest_messages import GuestCommand, GuestReply, StatusUpdate
from ipmicra.protocol.host_messages import PROTOCOL, passives_for

NEWS_SECONDS = 0.4
MEASURED_AT_ONCE = 500
EVERYWHERE = ("0.0.0.0/0", "::/0")  # asking is free: the broker judges


class GuestProgram:
    """One crawler behind a control channel."""

    def __init__(
        self, crawler: InProcessCrawler, meter: GuestLimiter, writer: asyncio.StreamWriter, protocol: int
    ) -> None:
        """`protocol` is that of the messages which the dock understands."""
        self._crawler, self._meter, self._writer = crawler, meter, writer
        self._protocol = protocol

    async def obey(self, reader: asyncio.StreamReader) -> None:
        """Until the dock hangs up. Its first word is what it begins with, before anything is fetched."""
        self._say(self._news())
        news, looking = asyncio.create_task(self._tell_news()), set[asyncio.Task[None]]()
        try:
            while (frame := await guest_messages.next_frame(reader)) is not None:
                ask = guest_messages.read_ask(frame)
                if isinstance(ask.order, guest_messages.ObservePage):  # it waits for a site's turn
                    looking.add(look := asyncio.create_task(self._answer(ask)))
                    look.add_done_callback(looking.discard)
                else:
                    await self._answer(ask)
        finally:
            for task in (news, *looking):
                task.cancel()
            await asyncio.wait([news, *looking])

    async def _answer(self, ask: guest_messages.HeardAsk) -> None:
        try:
            done = GuestReply(ask.number, await self._do(ask.order))
        except Fault as fault:
            done = GuestReply(ask.number, fault=str(fault))
        self._say(done)

    async def _do(self, order: GuestCommand | guest_messages.Unknown) -> str:
        crawler = self._crawler
        match order:
            case guest_messages.AddSite(site=site, address=address):
                crawler.hold(HeldSite(site, SiteEpoch(0), address))
            case guest_messages.EnqueueUrls(urls=urls):
                await crawler.give(urls)
            case guest_messages.SendWhole(urls=urls):
                await crawler.send_whole(urls)
            case guest_messages.ImportSite(state=state):
                return await crawler.take_over(state)
            case guest_messages.ExportSite(site=site, epoch=epoch):
                return await crawler.release(Site(site), epoch) or ""
            case guest_messages.ForgetSite(site=site):
                await crawler.forget(Site(site))
            case guest_messages.Work(settings=settings):
                crawler.settings = read_settings(settings)
                self._meter.apply(crawler.settings.host)
                crawler.start()
            case guest_messages.Drain():
                crawler.drain()
            case guest_messages.Stop(grace_seconds=grace_seconds):
                await crawler.stop(grace_seconds)
                self._say(self._news())
            case guest_messages.SealPackages():
                return "sealed" if await crawler.seal() else ""
            case guest_messages.ObservePage(url=url):
                return msgspec.json.encode(await crawler.look(url)).decode()
            case guest_messages.NextPackage():
                return str(await crawler.next_package())
            case guest_messages.Unknown(why=why):
                raise HostFault(f"the crawler's code does not understand an order: {why}")
            case never:
                assert_never(never)
        return ""

    async def _tell_news(self) -> None:
        while True:
            await asyncio.sleep(NEWS_SECONDS)
            self._say(self._news())

    def _news(self) -> StatusUpdate:
        ended = ""
        try:
            self._crawler.check()
        except Exception as error:
            ended = f"{type(error).__name__}: {error}"
        counts = self._crawler.counts()
        taken = self._meter.round_trips.take(MEASURED_AT_ONCE)
        measured = passives_for(self._protocol, taken)
        working = self._crawler.is_working
        return StatusUpdate(working, ended, counts.pages, counts.pending, measured, PROTOCOL)

    def _say(self, told: GuestReply | StatusUpdate) -> None:
        self._writer.write(guest_messages.framed(told))


def brokered_web(broker: BrokerClient, settings: HostingSettings, _: HeldSites) -> Fetcher:
    """A fetcher that has the broker resolve, judge and connect."""
    fetching = msgspec.structs.replace(settings.fetching, open_ranges=EVERYWHERE, closed_ranges=())
    return fetcher_for(settings.crawler, fetching, broker, broker)


async def live(config: GuestConfig, state: Path, control: socket.socket, broker: socket.socket) -> None:
    settings = settings_in(config.settings)
    client, meter = BrokerClient(broker), GuestLimiter(settings.host)
    crawler = InProcessCrawler(state, config.name, settings, meter, partial(brokered_web, client))
    try:
        reader, writer = await asyncio.open_unix_connection(sock=control)
        try:
            await GuestProgram(crawler, meter, writer, config.protocol).obey(reader)
        finally:
            await crawler.stop(0)
            writer.close()
    finally:
        await crawler.close()
        client.hang_up()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--broker", type=int, required=True)
    given = parser.parse_args(arguments)
    config = read_config(given.settings.read_bytes())
    tune_process()
    with socket.socket(fileno=given.control) as control, socket.socket(fileno=given.broker) as broker:
        uvloop.run(live(config, given.state, control, broker))


if __name__ == "__main__":
    main()

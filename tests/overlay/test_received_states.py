"""A site's state that was acknowledged is not lost, though the peer that acknowledged it is killed."""

from __future__ import annotations

import asyncio
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
import zstandard

from ipmicra.crawler.frontier import DiscoveredUrl, Frontier
from ipmicra.errors import HostFault, PeerFault
from ipmicra.host.site_state_file import chunks_in, write_state
from ipmicra.model.ids import DelegateEpoch, SiteEpoch
from ipmicra.model.urls import Site, Url
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.live import received_states
from ipmicra.overlay.live.crawl_service import PeerCrawlService
from ipmicra.overlay.live.received_states import FOLDER, ReceivedStates
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, SiteRecord
from ipmicra.protocol.overlay_rpc import StoreAck, TransferChunk
from tests.overlay.crawling_peers import RULES, SECRET, SPACE, settings_with

SITE = "http://bread.example"
HERE = (0.0, 0.0, 0.0)
RECEIVER = "tests.overlay.test_received_states"


def service_in(folder: Path) -> tuple[Peer, PeerCrawlService]:
    peer = Peer(PeerDescriptor(PeerId("lima"), HERE, (), address=""), SPACE, RULES)
    return peer, PeerCrawlService(folder, peer, FrameCodec(SECRET), settings_with(9).peer)


def state_of(folder: Path, *paths: str) -> bytes:
    frontier = Frontier(folder / "former.sqlite")
    frontier.add([DiscoveredUrl(Url(f"{SITE}{path}"), 0, 0) for path in paths])
    name = write_state(folder, SITE, SiteEpoch(1), frontier.export_site(Site(SITE)))
    frontier.close()
    assert name is not None
    return (folder / name).read_bytes()


async def receive_and_wait(folder: Path, state: bytes) -> None:
    """What the killed process does: it takes a state in two parts, says so, and waits to be killed."""
    _, service = service_in(folder)
    for number, part in enumerate((state[:100], state[100:])):
        chunk = TransferChunk("state", PeerId("oslo"), SITE, SiteEpoch(2), number, 2, part)
        answer = await service.transfers.on_chunk(chunk)
    assert isinstance(answer, StoreAck)
    sys.stdout.write("acknowledged\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def test_an_acknowledged_state_survives_a_killed_peer(tmp_path: Path) -> None:
    state = state_of(tmp_path, "/", "/rye", "/spelt")
    (tmp_path / "sent.state").write_bytes(state)
    command = [sys.executable, "-m", RECEIVER, str(tmp_path / "lima"), str(tmp_path / "sent.state")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"acknowledged\n"
        process.send_signal(signal.SIGKILL)

    async def begin_again() -> None:
        peer, service = service_in(tmp_path / "lima")
        try:
            now_s = time.monotonic()
            peer.site_table.start_crawling(
                SiteRecord(SITE, HERE, HERE, delegate=PeerId("lima"), epoch=DelegateEpoch(2)), now_s
            )
            await service.step(now_s)
            assert service.held_sites() == [SITE], "there is nothing to wait for: the state is here"
            assert service.complete_sites() == [SITE]
            assert service.crawler.counts().known == 3, "what the former crawler knew"
        finally:
            await service.crawler.stop(0)
            await service.close()

    asyncio.run(begin_again())
    assert len(ReceivedStates(tmp_path / "lima")) == 0, "begun, so not kept"


def compressed(*chunks: object) -> bytes:
    """What looks like a state from outside."""
    parts = [msgspec.msgpack.encode(chunk) for chunk in chunks]
    body = b"".join(struct.pack("<I", len(part)) + part for part in parts) + b"\xff\xff\xff\xff"
    return zstandard.ZstdCompressor().compress(body)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"no state", compressed(), compressed("site"), compressed({"type": "pages", "rows": []})],
)
def test_garbage_for_a_state_is_refused_and_nothing_is_stored(tmp_path: Path, garbage: bytes) -> None:
    async def story() -> None:
        _, service = service_in(tmp_path)
        try:
            with pytest.raises(PeerFault, match="oslo sent no state"):
                await service.transfers.on_chunk(whole(garbage))
            assert len(ReceivedStates(tmp_path)) == 0
        finally:
            await service.close()

    asyncio.run(story())


def test_a_state_of_another_site_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        _, service = service_in(tmp_path)
        try:
            chunk = msgspec.structs.replace(whole(state_of(tmp_path, "/")), site="http://cake.example")
            with pytest.raises(PeerFault, match=r"bread\.example as one of http://cake"):
                await service.transfers.on_chunk(chunk)
        finally:
            await service.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    "row", [[1, [1], None], [1, [{}] * 7, None], [2**63, None, [0] * 14], [1, None, []]]
)
def test_rows_that_no_crawler_writes_do_not_keep_the_site_from_being_crawled(
    tmp_path: Path, row: list[object]
) -> None:
    """The state begins as it should; what follows cannot be imported, and does not end the peer."""
    head = next(chunks_in(state_of(tmp_path, "/")))
    state = compressed(msgspec.Raw(head), {"type": "pages", "rows": [row]})

    async def story() -> None:
        peer, service = service_in(tmp_path)
        try:
            await service.transfers.on_chunk(whole(state))
            peer.site_table.start_crawling(
                SiteRecord(SITE, HERE, HERE, delegate=PeerId("lima"), epoch=DelegateEpoch(2)), 1.0
            )
            await service.step(1.0)
            assert service.held_sites() == [SITE]
            assert service.crawler.counts().known == 1, "its first page, and nothing of the state"
        finally:
            await service.crawler.stop(0)
            await service.close()

    asyncio.run(story())


def whole(state: bytes) -> TransferChunk:
    return TransferChunk("state", PeerId("oslo"), SITE, SiteEpoch(2), 0, 1, state)


def test_states_are_read_back_and_rubbish_is_removed(tmp_path: Path) -> None:
    states = ReceivedStates(tmp_path)
    states.store(SITE, b"first")
    states.store(SITE, b"second")
    states.store("http://cake.example", b"cake")
    states.discard("http://cake.example")
    (tmp_path / FOLDER / "0.state").write_bytes(b"\xc1")
    (tmp_path / FOLDER / ".1.state.unfinished").write_bytes(b"half")
    again = ReceivedStates(tmp_path)
    assert (list(again), again.recovered) == ([SITE], frozenset({SITE}))
    assert again.read(SITE) == b"second"
    assert len(list((tmp_path / FOLDER).iterdir())) == 1


def test_no_peer_can_fill_the_disk_with_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_states, "STATES_MAX", 2)
    states = ReceivedStates(tmp_path)
    for number in range(2):
        states.store(f"http://{number}.example", b"")
    states.store("http://0.example", b"newer")
    with pytest.raises(HostFault):
        states.store("http://2.example", b"")


if __name__ == "__main__":
    asyncio.run(receive_and_wait(Path(sys.argv[1]), Path(sys.argv[2]).read_bytes()))

"""Live peers on loopback: real processes, real sockets, one of them killed."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from random import Random

import pytest

from ipmicra.errors import PeerFault
from ipmicra.model.ids import DelegateEpoch
from ipmicra.overlay.live.rpc_client import status_of, submit
from ipmicra.protocol.overlay_frames import CLOCK_SKEW_S, FrameCodec, length_of
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, ReleaseSite
from ipmicra.protocol.overlay_rpc import PeerStatus
from tests.overlay.network import random_point
from tests.overlay.peers_process import SECRET, SPACE

PROCESSES, PEERS_EACH, SITES = 5, 5, 40
SECONDS_TO_HEAL = 30.0


@pytest.fixture
def ports() -> list[int]:
    """Free ports, as far as the kernel can guarantee."""
    found = []
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(PROCESSES * PEERS_EACH)]
    for listening in sockets:
        found.append(listening.getsockname()[1])
        listening.close()
    return found


@pytest.fixture
def processes(ports: list[int]) -> Iterator[list[subprocess.Popen[str]]]:
    via, started = f"127.0.0.1:{ports[0]}", []
    for number in range(PROCESSES):
        mine = map(str, ports[number * PEERS_EACH : (number + 1) * PEERS_EACH])
        command = [sys.executable, "-m", "tests.overlay.peers_process", via, *mine]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        started.append(process)
    yield started
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


async def statuses_of(ports: list[int]) -> list[PeerStatus]:
    return [await status_of(f"127.0.0.1:{port}", FrameCodec(SECRET)) for port in ports]


def faults(peers: list[PeerStatus]) -> list[str]:
    """What is not yet correct among these peers."""
    found = []
    filled = sum(zone.volume for peer in peers for zone in peer.descriptor.zones) / SPACE.volume
    if abs(filled - 1) > 1e-9:
        found.append(f"zones fill {filled:.6f} of the space")
    for which in ("home_sites", "crawled"):
        sites = [site for peer in peers for site in getattr(peer, which)]
        if not len(sites) == len(set(sites)) == SITES:
            found.append(f"{len(sites)} {which}, {len(set(sites))} different")
    return found


def wait_until(check: Callable[[], list[str]], seconds: float) -> None:
    """Repeat the check until nothing is wrong."""
    end = time.monotonic() + seconds
    while (wrong := check()) and time.monotonic() < end:
        time.sleep(0.25)
    assert wrong == []


def test_a_killed_process_of_peers_is_taken_over(
    ports: list[int], processes: list[subprocess.Popen[str]]
) -> None:
    def all_joined() -> list[str]:
        return [
            f"{peer.descriptor.peer} has no zone"
            for peer in asyncio.run(statuses_of(ports))
            if not peer.descriptor.zones
        ]

    wait_until(all_joined, 20)
    dice = Random(1)
    for number in range(SITES):
        any_peer = f"127.0.0.1:{dice.choice(ports)}"
        point = random_point(dice, SPACE)
        asyncio.run(submit(f"s{number}.example", point, SPACE, any_peer, FrameCodec(SECRET)))
    wait_until(lambda: faults(asyncio.run(statuses_of(ports))), 10)
    time.sleep(1.5)  # one gossip interval: a record that was just submitted has no replica yet
    processes[1].kill()
    processes[1].wait()
    left = ports[:PEERS_EACH] + ports[2 * PEERS_EACH :]
    wait_until(lambda: faults(asyncio.run(statuses_of(left))), SECONDS_TO_HEAL)


def test_a_frame_opens_only_with_the_secret_at_its_address_and_in_time() -> None:
    codec, message = (
        FrameCodec(b"one"),
        ReleaseSite("s.example", DelegateEpoch(3), PeerDescriptor(PeerId("nobody"), (0.0,), ())),
    )
    frame = codec.encode(message, "127.0.0.1:1", now_s=100.0)
    assert length_of(frame[:4]) == len(frame) - 4
    assert codec.decode(frame[4:], "127.0.0.1:1", now_s=100.5).message == message
    with pytest.raises(PeerFault, match="second time"):
        codec.decode(frame[4:], "127.0.0.1:1", now_s=100.6)
    frame = codec.encode(message, "127.0.0.1:1", now_s=100.0)
    for other, me, now_s in [
        (FrameCodec(b"two"), "127.0.0.1:1", 100.0),
        (codec, "127.0.0.1:2", 100.0),
        (codec, "127.0.0.1:1", 101.0 + CLOCK_SKEW_S),
    ]:
        with pytest.raises(PeerFault):
            other.decode(frame[4:], me, now_s)
    with pytest.raises(PeerFault):
        codec.decode(frame[4:-1] + b"?", "127.0.0.1:1", now_s=100.0)


def test_a_stranger_without_the_secret_learns_nothing(
    ports: list[int], processes: list[subprocess.Popen[str]]
) -> None:
    with pytest.raises(PeerFault, match="did not answer"):
        asyncio.run(status_of(f"127.0.0.1:{ports[0]}", FrameCodec(b"guessed")))
    assert asyncio.run(statuses_of(ports[:1]))[0].descriptor.peer == f"peer-{ports[0]}"
    with socket.create_connection(("127.0.0.1", ports[0])) as stranger:
        stranger.sendall(b"\xff" * 64)
        assert stranger.recv(1) == b""


@pytest.mark.parametrize("length", [0, 31, (16 << 20) + 1, (1 << 32) - 1])
def test_a_frame_has_a_length_within_bounds(length: int) -> None:
    with pytest.raises(PeerFault, match="limit"):
        length_of(length.to_bytes(4, "big"))

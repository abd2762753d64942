"""Messages and packages that version 0.1.0 wrote are read by this version to the same contents.

`data-0.1/messages.json` has a message of each kind with every field that 0.1.0 knew. A later version may have
more fields; none of these may be lost or change.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ipmicra.carrier.package import pack, unpack
from ipmicra.host.hosted.guest.guest_config import read_config, settings_in
from ipmicra.model.records import Record
from ipmicra.protocol.overlay_frames import FrameCodec
from tests.compatibility.commands import DATA
from tests.compatibility.observed import written
from tests.compatibility.wire import CONVERSATIONS, WireChannel

MESSAGES: dict[str, str] = json.loads((DATA / "messages.json").read_text())
RECORDS: list[Any] = json.loads((DATA / "package-records.json").read_text())
FRAME_SECRET, FRAME_PEER, FRAME_SENT_S = bytes(32), "peer-1", 1_700_000_000.0


def conversation_of(key: str) -> WireChannel:
    longest = max((name for name in CONVERSATIONS if key.startswith(name)), key=len)
    return CONVERSATIONS[longest]


def kept(before: Any, now: Any) -> bool:
    """Whether all that was there is there; more may be beside it."""
    if isinstance(before, dict):
        return isinstance(now, dict) and all(
            key in now and kept(value, now[key]) for key, value in before.items()
        )
    if isinstance(before, list):
        return isinstance(now, list) and len(now) >= len(before) and all(map(kept, before, now))
    return bool(before == now)


@pytest.mark.parametrize("key", MESSAGES)
def test_a_message_is_read_and_written_again(key: str) -> None:
    one = conversation_of(key)
    text = MESSAGES[key]
    data = text.encode() if one.encoding == "json" else bytes.fromhex(text)
    again = one.encoded(one.decoded(data))
    assert kept(one.decoded(data, Any), one.decoded(again, Any))


def test_what_is_lost_is_noticed() -> None:
    assert kept({"a": [1]}, {"a": [1, 2], "b": 3})
    assert not kept({"a": [1, 2]}, {"a": [1]})
    assert not kept({"a": 1}, {"b": 1})


def test_a_frame_of_a_peer_is_opened() -> None:
    frame = bytes.fromhex((DATA / "frame.hex").read_text())
    message = FrameCodec(FRAME_SECRET).decode(frame[4:], FRAME_PEER, FRAME_SENT_S + 1).message
    assert json.loads(written(message)) == {"type": "AskWhoOwns", "key": [1.5, 2.5]}


def test_what_a_crawler_in_a_sandbox_was_started_with_is_read() -> None:
    text = (DATA / "sandbox-settings.json").read_bytes()
    config = read_config(text)
    assert (config.name, config.version) == ("lima", 1)
    assert settings_in(config.settings).crawler.contact == "tester@example.org"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_package_is_read_to_the_same_records(version: int) -> None:
    header, records = unpack((DATA / f"format-{version}.package").read_bytes())
    assert (header.crawler, header.sequence) == ("crawler-1", 7)
    told = [one for one in RECORDS if version == 3 or one[0] != "changed"]
    assert sorted(json.loads(written(records)), key=json.dumps) == sorted(told, key=json.dumps)


def test_the_same_records_make_the_same_package() -> None:
    records = [msgspec.convert(one, Record, strict=False) for one in RECORDS]
    assert pack(records, "crawler-1", 7) == (DATA / "format-3.package").read_bytes()

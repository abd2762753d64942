"""What a crawler in a sandbox is started with: what it needs, nothing of the owner's, in any version."""

from __future__ import annotations

import msgspec
import pytest

from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.crawler.decisions.politeness import RateOverride
from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.errors import HostFault
from ipmicra.host.hosted.guest.guest_config import (
    GUEST_SETTINGS,
    VERSION,
    encode_config,
    encode_settings,
    read_config,
    read_settings,
    settings_in,
)
from ipmicra.host.settings import HostSettings
from ipmicra.protocol.guest_messages import (
    EnqueueUrls,
    GuestRequest,
    UnknownCommand,
    encode,
    read_request,
)
from ipmicra.protocol.host_messages import PROTOCOL
from ipmicra.settings import GeneralSettings, Settings

SECRET = "postgresql://ipmicra:swordfish@db.example/ipmicra"
SETTINGS = Settings(
    general=GeneralSettings(data_folder="/home/swordfish"),
    coordinator=CoordinatorSettings(database=SECRET),
    crawler=CrawlerSettings(
        contact="https://a.example/bot",
        grants=(RateOverride(site="b.example", requests_per_second=5),),
    ),
    host=HostSettings(
        position="59.9, 10.8", own_sites=("https://swordfish.example/",), connections_max=9
    ),
)


class BriefBefore(msgspec.Struct, frozen=True):
    """What bundles of version 0.1.0 read; `Settings` refuse what they do not know, at every level."""

    name: str
    settings: Settings


def with_more(kind: type[msgspec.Struct], **more: tuple[type, object]) -> type[msgspec.Struct]:
    """The same settings in a later version."""
    fields = [(name, *field) for name, field in more.items()]
    return msgspec.defstruct(kind.__name__, fields, bases=(kind,), frozen=True, kw_only=True)


def later_settings() -> Settings:
    """Settings of a version that has one more in every table."""
    later = with_more(Settings, weather=(str, "rain"))
    tables = {
        table: msgspec.convert(
            msgspec.to_builtins(getattr(SETTINGS, table)),
            with_more(type(getattr(SETTINGS, table)), later_setting=(int, 7)),
        )
        for table in ("fetching", "probing", "crawler", "host", "coordinator", "registry")
    }
    made = later(**tables)
    assert isinstance(made, Settings)
    return made


def test_nothing_crosses_but_what_is_listed() -> None:
    for written in (encode_config("lima", SETTINGS.hosting), encode_settings(SETTINGS.hosting)):
        assert b"swordfish" not in written
        assert b"59.9" not in written
        tables = msgspec.json.decode(written)
        tables = tables.get("settings", tables)
        assert {table: tuple(names) for table, names in tables.items()} == GUEST_SETTINGS


def test_the_guest_works_by_the_hosts_settings() -> None:
    config = read_config(encode_config("lima", SETTINGS.hosting))
    assert (config.name, config.version, config.protocol) == ("lima", VERSION, PROTOCOL)
    for read in (settings_in(config.settings), read_settings(encode_settings(SETTINGS.hosting))):
        assert read.crawler == SETTINGS.crawler
        assert read.host.connections_max == 9
        assert read.host.own_sites == ()
        assert not hasattr(read, "coordinator")


def test_a_host_with_settings_more_starts_an_older_bundle() -> None:
    before = msgspec.json.decode(encode_config("lima", later_settings().hosting), type=BriefBefore)
    assert before.settings.crawler == SETTINGS.crawler
    assert (
        msgspec.json.decode(encode_settings(later_settings().hosting), type=Settings) == before.settings
    )


def test_a_bundle_understands_older_and_newer_hosts() -> None:
    older = read_config(msgspec.json.encode(BriefBefore("lima", SETTINGS)))
    assert (older.version, older.protocol) == (1, 1)
    assert settings_in(older.settings).crawler == SETTINGS.crawler
    tables = msgspec.json.decode(encode_settings(SETTINGS.hosting))
    tables["crawler"]["later_setting"] = 1
    tables["crawler"]["grants"][0]["later_setting"] = 1
    newer = {"name": "lima", "settings": {**tables, "weather": {}}, "version": 99, "later": 1}
    config = read_config(msgspec.json.encode(newer))
    assert settings_in(config.settings).crawler == SETTINGS.crawler
    assert read_settings(msgspec.json.encode({**tables, "weather": {}})).crawler == SETTINGS.crawler


def test_malformed_settings_are_refused() -> None:
    for wrong in (b"{", b"[]", b'{"crawler": {"delay_seconds_min": -1}}'):
        with pytest.raises(HostFault):
            read_settings(wrong)


def test_an_order_that_this_version_does_not_know_is_refused_alone() -> None:
    assert read_request(
        encode(GuestRequest(1, EnqueueUrls(("http://a.example/",))))
    ).order == EnqueueUrls(("http://a.example/",))
    heard = read_request(encode({"number": 2, "order": {"type": "dance"}}))
    assert heard.number == 2
    assert isinstance(heard.order, UnknownCommand)
    assert "dance" in heard.order.why

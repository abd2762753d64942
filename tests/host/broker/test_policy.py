"""What code asks the broker for -> an address, or the reason why not."""

from __future__ import annotations

import ipaddress

import pytest

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.host.broker.policy import NAMES_REMEMBERED, ConnectPolicy, ConnectRefusal
from ipmicra.model.failures import FailureKind
from ipmicra.protocol.broker_messages import Connect

PUBLIC = ipaddress.ip_address("93.184.216.34")


def policy(rest: str | None = None) -> ConnectPolicy:
    made = ConnectPolicy(FetchingSettings(), lambda: rest, list)
    made.record_resolution("a.org", [PUBLIC])
    return made


def asked(name: str = "a.org", address: str = str(PUBLIC), port: int = 443) -> Connect:
    return Connect(number=1, name=name, address=address, port=port, patience_ms=1000)


def test_what_a_name_server_said_may_be_connected_to() -> None:
    assert policy().decide(asked()) == PUBLIC
    assert policy().decide(asked(name=str(PUBLIC))) == PUBLIC


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (asked(name="bank.org"), FailureKind.REFUSED_ADDRESS),
        (asked(address="93.184.216.35"), FailureKind.REFUSED_ADDRESS),
        (asked(name="127.0.0.1", address="127.0.0.1"), FailureKind.REFUSED_ADDRESS),
        (asked(address="not an address"), FailureKind.REFUSED_ADDRESS),
        (asked(port=25), FailureKind.REFUSED_PORT),
        (asked(port=0), FailureKind.REFUSED_PORT),
        (asked(port=65_536 + 443), FailureKind.REFUSED_PORT),
    ],
)
def test_false_names_special_addresses_and_other_ports_are_refused(
    request_: Connect, kind: FailureKind
) -> None:
    refusal = policy().decide(request_)
    assert isinstance(refusal, ConnectRefusal)
    assert refusal.kind is kind


def test_a_host_that_rests_refuses_everything() -> None:
    refusal = policy(rest="rests").decide(asked())
    assert isinstance(refusal, ConnectRefusal)
    assert not refusal.is_notable


def test_names_are_remembered_within_bounds() -> None:
    full = policy()
    for number in range(NAMES_REMEMBERED):
        full.record_resolution(f"{number}.org", [PUBLIC])
    assert isinstance(full.decide(asked()), ConnectRefusal)  # the oldest has made room
    assert full.decide(asked(name="1.org")) == PUBLIC

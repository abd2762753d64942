"""No address that is not public, however it is wrapped; no port of another trade."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.errors import OperatorFault
from ipmicra.net import address_guard
from ipmicra.net.address_guard import AddressGuard, is_own, wrapped

PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700::1111",
    "2a00:1450::1",
    "100.128.0.1",
    "172.32.0.1",
]
WRAPPED_PUBLIC = ["::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
NOT_PUBLIC = [
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254"),
    *("172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1"),
    *("198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.5", "224.0.0.1", "239.1.1.1"),
    *("240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fec0::1", "fc00::1", "fd12::1"),
    *("ff02::1", "ff0e::1", "100::1", "2001:db8::1", "3fff::1", "2001:10::1", "5f00::1", "4000::1"),
    *("192.31.196.1", "192.52.193.1", "192.175.48.1", "2620:4f:8000::1"),
    "64:ff9b:1::808:808",
]


@pytest.mark.parametrize("text", PUBLIC + WRAPPED_PUBLIC)
def test_public_addresses_are_open(text: str) -> None:
    assert AddressGuard().denial_reason(ipaddress.ip_address(text)) is None


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_other_addresses_are_refused(text: str) -> None:
    assert AddressGuard().denial_reason(ipaddress.ip_address(text)) is not None


private_addresses = st.sampled_from(
    ["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"]
).flatmap(lambda block: st.ip_addresses(v=4, network=block))
WRAPPINGS = {
    "mapped": lambda bits: 0xFFFF << 32 | bits,
    "compatible": lambda bits: bits,
    "nat64": lambda bits: 0x0064_FF9B << 96 | bits,
    "6to4": lambda bits: 0x2002 << 112 | bits << 80 | 1,
    "teredo server": lambda bits: 0x2001_0000 << 96 | bits << 64 | 0xF7F7_F7F7,
    "teredo client": lambda bits: 0x2001_0000 << 96 | 0x0808_0808 << 64 | bits ^ 0xFFFF_FFFF,
    "isatap": lambda bits: 0x2606_4700 << 96 | 0x0000_5EFE << 32 | bits,
}


@given(private_addresses, st.sampled_from(sorted(WRAPPINGS)))
def test_a_private_address_is_refused_in_every_wrapping(
    private: ipaddress.IPv4Address, wrapping: str
) -> None:
    address = ipaddress.IPv6Address(WRAPPINGS[wrapping](int(private)))
    assert AddressGuard().denial_reason(address) is not None


@given(st.ip_addresses())
def test_python_agrees_about_everything_it_calls_private(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if any(wrapped(address)):
        return  # judged by the address inside
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        assert AddressGuard().denial_reason(address) is not None


def test_the_settings_open_named_ranges_and_nothing_else() -> None:
    guard = AddressGuard(open_ranges=["10.1.0.0/16"])
    assert guard.denial_reason(ipaddress.ip_address("10.1.2.3")) is None
    assert guard.denial_reason(ipaddress.ip_address("::ffff:10.1.2.3")) is None
    assert guard.denial_reason(ipaddress.ip_address("10.2.0.1")) is not None
    assert guard.denial_reason(ipaddress.ip_address("::ffff:10.2.0.1")) is not None


def test_closed_ranges_win() -> None:
    guard = AddressGuard(open_ranges=["8.8.0.0/16"], closed_ranges=["8.8.8.0/24"])
    assert guard.denial_reason(ipaddress.ip_address("8.8.9.1")) is None
    assert guard.denial_reason(ipaddress.ip_address("8.8.8.8")) is not None


def test_the_machine_knows_itself() -> None:
    assert is_own(ipaddress.ip_address("127.0.0.1"))
    assert not is_own(ipaddress.ip_address("93.184.216.34"))


def test_a_range_that_is_none_is_the_operators_fault() -> None:
    with pytest.raises(OperatorFault, match=r"fetching\.open_ranges.*10\.1\.0\.0/16"):
        AddressGuard(open_ranges=["ten dot one"])


@pytest.mark.parametrize(("port", "open_"), [(80, True), (443, True), (8080, True), (25, False)])
@pytest.mark.parametrize("more", [(), (990,)])
def test_ports(port: int, open_: bool, more: tuple[int, ...]) -> None:
    assert (AddressGuard(open_ports=more).port_denial_reason(port) is None) is open_
    assert (AddressGuard(open_ports=more).port_denial_reason(990) is None) is bool(more)
    assert AddressGuard(open_ports=more).port_denial_reason(6379) is not None


@pytest.mark.parametrize("port", [2375, 9200, 10250, 6379, 5432, 27017, 3389, 8500, 15672])
def test_services_are_never_crawled(port: int) -> None:
    assert AddressGuard(open_ports=(990,)).port_denial_reason(port) is not None


def test_this_machines_own_public_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ipaddress.ip_address("93.184.216.34")
    monkeypatch.setattr(address_guard, "is_own", lambda address: address == own)
    assert AddressGuard().denial_reason(own) == "93.184.216.34 is this machine's own"
    assert AddressGuard().denial_reason(ipaddress.ip_address("93.184.216.35")) is None

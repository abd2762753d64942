"""The sandbox's parts, a table or a story each: the filter, files, neighbours, remarks, guards, idleness."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import struct
from pathlib import Path

import pytest

from ipmicra.errors import HostFault, OperatorFault
from ipmicra.host.broker.broker import site_label
from ipmicra.host.broker.onlink import OnlinkRoute, is_neighbour, parse_routes_v4, parse_routes_v6
from ipmicra.host.limits.cpu_idle import CpuIdleMonitor
from ipmicra.host.sandbox.code import own_code
from ipmicra.host.sandbox.files import read_inside, remove_inside
from ipmicra.host.sandbox.guards import seccomp_filter
from ipmicra.host.sandbox.guards.selftest import SandboxGuard, missing_guards, working_guards
from ipmicra.host.sandbox.guards.syscalls import PROCESSORS, names_by_number, number_of
from ipmicra.host.sandbox.mode import RunMode, choose_run_mode
from ipmicra.host.sandbox.monitor.throttled_log import KINDS_MAX, ThrottledLog
from ipmicra.host.settings import HostSettings, checked
from tests.host.host_harness import command

# --- the filter ---------------------------------------------------------------------------------

ALLOW, REPORT, NO_SUCH_CALL, KILL = 0x7FFF_0000, 0x7FC0_0000, 0x0005_0026, 0x8000_0000


def played(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel's packet-filter machine would return."""
    data = struct.pack("=iIQ6Q", number, arch, 0, *(arguments + (0,) * 6)[:6])
    steps = list(struct.iter_unpack("=HBBI", program))
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return int(value)
        else:
            holds = accumulator == value if code == 0x15 else accumulator > value
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", PROCESSORS)
@pytest.mark.parametrize(
    ("call", "arguments", "verdict"),
    [
        ("socket", (2, 1), REPORT),
        ("connect", (), REPORT),
        ("sendto", (3, 0, 1, 0), ALLOW),
        ("sendto", (3, 0, 1, 0x2000_0000), REPORT),
        ("sendmsg", (3, 0, 0x2000_4000), REPORT),
        ("sendmsg", (3, 0, 0x4000), ALLOW),
        ("clone", (0x3D_0F00,), ALLOW),  # a thread, as the C library starts it
        ("clone", (17,), REPORT),  # a process
        ("clone", (0x1001_0000,), REPORT),  # a thread in a new user namespace
        ("clone3", (), NO_SUCH_CALL),
        ("mmap", (0, 4096, 3, 0x22), ALLOW),
        ("mmap", (0, 4096, 3, 0x21), REPORT),
        ("socketpair", (1, 1), ALLOW),
        ("socketpair", (30, 1), REPORT),
        ("prctl", (1, 0), REPORT),
        ("prctl", (15, 0), ALLOW),
        ("setsockopt", (3, 6, 1), ALLOW),
        ("setsockopt", (3, 0, 4), REPORT),
        ("io_uring_setup", (), REPORT),
        ("execve", (), REPORT),
    ],
)
def test_the_filter_lets_through_what_it_should(
    machine: str, call: str, arguments: tuple[int, ...], verdict: int
) -> None:
    processor = PROCESSORS[machine]
    number = number_of(call, processor)
    assert number is not None
    assert played(seccomp_filter.program(processor), processor.audit_arch, number, *arguments) == verdict


def test_calls_of_another_kind_or_of_a_newer_kernel_are_not_let_through() -> None:
    processor = PROCESSORS["x86_64"]
    program = seccomp_filter.program(processor)
    assert played(program, PROCESSORS["aarch64"].audit_arch, 0) == KILL
    assert played(program, processor.audit_arch, 0) == ALLOW  # read
    assert played(program, processor.audit_arch, 600) == NO_SUCH_CALL
    assert played(program, processor.audit_arch, 0x4000_0000) == NO_SUCH_CALL  # x32's read


def test_every_forbidden_call_has_a_number_that_is_its_own() -> None:
    for processor in PROCESSORS.values():
        names = [
            *seccomp_filter.FORBIDDEN,
            *seccomp_filter.FORBIDDEN_WHEN,
            *seccomp_filter.UNKNOWN_CALLS,
        ]
        numbers = [number_of(name, processor) for name in names]
        known = [number for number in numbers if number is not None]
        assert len(set(known)) == len(known)
        assert {names_by_number(processor)[number] for number in known} <= set(names)


# --- files that code wrote ----------------------------------------------------------------------


def test_only_a_plain_file_of_that_folder_is_read(tmp_path: Path) -> None:
    spool, secret = tmp_path / "state" / "spool", tmp_path / "secret"
    spool.mkdir(parents=True)
    secret.write_bytes(b"the host's key")
    (spool / "package-1").write_bytes(b"a package")
    (spool / "link").symlink_to(secret)
    os.link(secret, spool / "second-name")
    os.mkfifo(spool / "pipe")
    (tmp_path / "state" / "moved").symlink_to(tmp_path)
    state = tmp_path / "state"
    assert read_inside(state, "spool", "package-1", 100) == b"a package"
    for within, name in [
        ("spool", "link"),
        ("spool", "second-name"),
        ("spool", "pipe"),
        ("spool", "../../secret"),
        ("moved", "secret"),
        ("..", "secret"),
    ]:
        with pytest.raises(HostFault):
            read_inside(state, within, name, 100)
    with pytest.raises(HostFault):
        read_inside(state, "spool", "package-1", 3)
    with pytest.raises(FileNotFoundError):
        read_inside(state, "spool", "package-2", 100)
    remove_inside(state, "spool", "link")
    assert secret.exists()
    with pytest.raises(HostFault):
        remove_inside(state, "moved", "secret")


# --- neighbours ---------------------------------------------------------------------------------

ROUTES_V4 = """\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t0108080A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t00080808\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""
ROUTES_V6 = (
    "2a000000000000000000000000000000 40 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n"
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "fe800000000000000000000000000001 00000100 00000001 00000000 00000003     eth0\n"
)


@pytest.mark.parametrize(
    ("address", "near"),
    [("8.8.8.200", True), ("8.8.9.1", False), ("2a00::7", True), ("2a00:1::7", False)],
)
def test_who_is_reached_without_a_router_is_a_neighbour(address: str, near: bool) -> None:
    routes = [*parse_routes_v4(ROUTES_V4), *parse_routes_v6(ROUTES_V6)]
    assert is_neighbour(ipaddress.ip_address(address), routes) is near


def test_a_line_from_point_to_point_has_no_neighbours() -> None:
    (route,) = parse_routes_v4("head\nppp0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n")
    assert route == OnlinkRoute(route.range, 0, True)
    assert not is_neighbour(ipaddress.ip_address("8.8.8.8"), [route])


@pytest.mark.parametrize(
    ("name", "port", "site"),
    [
        ("a.example", 443, "https://a.example"),
        ("a.example", 80, "http://a.example"),
        ("a.example", 8080, "http://a.example:8080"),
        ("::1", 80, "http://[::1]"),
    ],
)
def test_a_site_is_written_down_by_name_and_port(name: str, port: int, site: str) -> None:
    assert site_label(name, port) == site


# --- the log ------------------------------------------------------------------------------------


def test_a_log_is_not_filled_however_often_something_is_tried() -> None:
    lines: list[str] = []
    remarks = ThrottledLog(lines.append)
    for _ in range(1_234):
        remarks.add("tried\nsocket")
    assert lines == ["tried?socket", *(f"tried?socket ({n} times)" for n in ("10", "100", "1,000"))]
    for number in range(10 * KINDS_MAX):
        remarks.add(f"new {number}")
    assert len(lines) < KINDS_MAX + 20


# --- guards and rules ---------------------------------------------------------------------------


def test_the_owner_is_told_which_guards_hold(tmp_path: Path) -> None:
    told = command(tmp_path, "host", "check", "--json")
    guards = {guard["name"]: guard for guard in json.loads(told.stdout)}
    needed = {"namespaces", "user", "network", "filter", "limits"}
    assert {name for name, guard in guards.items() if guard["needed"]} == needed
    assert all(guards[name]["held"] for name in needed), guards
    assert told.exit_code == 0


def test_only_needed_guards_count_and_an_owner_may_do_without_one() -> None:
    tried = [
        SandboxGuard("filter", False, True, "system calls", "the kernel has no seccomp"),
        SandboxGuard("landlock", False, False, "files"),
        SandboxGuard("user", True, True, "nobody"),
    ]
    assert [guard.name for guard in missing_guards(tried)] == ["filter"]
    assert missing_guards(tried, ("filter",)) == []
    assert not working_guards(tried).filter


def test_dispatched_code_is_refused_where_a_needed_guard_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    notes: list[str] = []
    plain = RunMode(own_code()._replace(is_confined=False), takes_bundles=False)
    assert asyncio.run(choose_run_mode(HostSettings(), notes.append)) == plain
    assert "bubblewrap is missing" in notes[0]
    with pytest.raises(HostFault, match=r"host\.sandbox = always"):
        asyncio.run(choose_run_mode(HostSettings(sandbox="always"), notes.append))


def test_an_idle_machine_cannot_lend_less_than_one_in_use() -> None:
    checked(HostSettings(cpu_share_max=0.5, cpu_share_idle_max=1.0))
    with pytest.raises(OperatorFault, match="cpu_share_idle_max"):
        checked(HostSettings(cpu_share_max=0.5, cpu_share_idle_max=0.2))


def test_a_machine_is_idle_while_nobody_but_us_uses_it() -> None:
    now, busy, ours = 0.0, 100.0, 0.0
    idleness = CpuIdleMonitor(lambda: ours, lambda: busy, lambda: now)
    story = [(5, 4, True), (5, 6, False), (1, 1, False), (9, 7.2, True)]  # seconds; busy; verdict
    for seconds, used, verdict in story:
        now, busy, ours = now + seconds, busy + used, ours + seconds * 0.8
        assert idleness.update() is verdict


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        *((call, ()) for call in ("bind", "listen", "accept", "accept4", "ptrace", "process_vm_readv")),
        *((call, ()) for call in ("process_vm_writev", "pidfd_getfd", "execveat", "mount", "unshare")),
        *(
            (call, ())
            for call in ("keyctl", "bpf", "perf_event_open", "memfd_create", "setuid", "seccomp")
        ),
        *((call, ()) for call in ("init_module", "kexec_load", "clock_settime", "chroot", "setns")),
        ("ioctl", (3, 0x8912)),  # SIOCGIFCONF: the machine's interfaces
        ("ioctl", (3, 0x8927)),  # SIOCGIFHWADDR
        ("ioctl", (0, 0x5412)),  # TIOCSTI: typing for the owner
        ("setsockopt", (3, 1, 25)),  # SO_BINDTODEVICE
        ("setsockopt", (3, 41, 4)),  # IPv6 options
        ("sendmmsg", (3, 0, 1, 0x2000_0000)),
    ],
)
def test_what_leads_out_of_the_sandbox_is_reported(call: str, arguments: tuple[int, ...]) -> None:
    processor = PROCESSORS["x86_64"]
    number = number_of(call, processor)
    assert number is not None
    program = seccomp_filter.program(processor)
    assert played(program, processor.audit_arch, number, *arguments) == REPORT

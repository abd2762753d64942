"""This machine, tested -> which sandbox guards work here, and whether foreign code may run.

Every line is the result of an attempt inside a sandbox, not of a version check. Invariant: code that the
owner did not install runs only where every required guard works; the guards that an owner waives are
named in the settings, one by one.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ipmicra.errors import HostFault
from ipmicra.host.sandbox.code import own_code
from ipmicra.host.sandbox.guards.seccomp_notify import SeccompNotifications
from ipmicra.host.sandbox.launch import Sandbox, start
from ipmicra.host.sandbox.monitor.throttled_log import ThrottledLog
from ipmicra.host.sandbox.spec import EnabledGuards, SandboxLimits, SandboxSpec

PROBE = "ipmicra.host.sandbox.guards.selftest_probe"
PROBE_SECONDS_MAX = 20.0
CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "memory", "pids")
_LIMITS = SandboxLimits(memory_bytes_max=256 << 20, disk_bytes_max=1 << 20, files_max=64)


class SandboxGuard(NamedTuple):
    """One guard, and the result of its test."""

    name: str
    held: bool
    needed: bool
    what: str
    detail: str = ""


SelfTestResult = dict[str, object]


async def run_selftest() -> list[SandboxGuard]:
    """Starts two small sandboxes; takes about a second."""
    filtered, why_not = await _run_probe(EnabledGuards(landlock=False))
    second, why_no_landlock = await _run_probe(EnabledGuards(filter=False, reporting=False))
    return [*_needed(filtered, second, why_not), _landlock(second, why_no_landlock), _cgroups()]


def _needed(
    filtered: SelfTestResult | None, unfiltered: SelfTestResult | None, why_not: str
) -> list[SandboxGuard]:
    f, u = filtered or {}, unfiltered or {}
    begun = filtered is not None
    unprivileged = begun and f["user"] != 0 and f["capabilities"] == 0
    limited = (
        f.get("memory_bytes") == _LIMITS.memory_bytes_max and f.get("threads") == _LIMITS.threads_max
    )
    network = u.get("network") or f.get("socket")
    return [
        SandboxGuard("namespaces", begun, True, "its own view of files, processes and network", why_not),
        SandboxGuard("user", unprivileged, True, "no privileged user, no capabilities"),
        SandboxGuard(
            "network", network in {"ENETUNREACH", "EPERM"}, True, "no network except the broker"
        ),
        SandboxGuard(
            "filter", f.get("socket") == "EPERM", True, "system calls by seccomp, reported to the host"
        ),
        SandboxGuard("limits", limited, True, "memory, files and threads by rlimits"),
    ]


def _landlock(found: SelfTestResult | None, why_not: str) -> SandboxGuard:
    held = found is not None and found["link"] == "EACCES" and found["bind"] == "EACCES"
    detail = why_not or ("" if held else "the kernel's Landlock does not know TCP yet")
    return SandboxGuard("landlock", held, False, "files and TCP a second time, by Landlock", detail)


def _cgroups() -> SandboxGuard:
    """Memory and processors of all processes together. With one process, rlimits and freezing do it."""
    missing = list(CONTROLLERS)
    with suppress(OSError):
        here = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].split("\n")[0].lstrip("/")
        folder = CGROUPS / here
        there = (folder / "cgroup.controllers").read_text().split()
        writable = os.access(folder / "cgroup.procs", os.W_OK)
        missing = [name for name in CONTROLLERS if name not in there or not writable]
    detail = f"no writable controller: {', '.join(missing)}" if missing else ""
    return SandboxGuard(
        "cgroups", not missing, False, "cgroups v2, by which others may limit the host", detail
    )


async def _run_probe(guards: EnabledGuards) -> tuple[SelfTestResult | None, str]:
    """The results of the self-test's process, or the reason why it failed."""
    with tempfile.TemporaryDirectory(prefix="ipmicra-check-") as folder:
        state, settings = Path(folder) / "state", Path(folder) / "settings.json"
        state.mkdir()
        settings.write_text("{}")
        code = own_code()
        try:
            sandbox = await start(SandboxSpec(code.folder, PROBE, state, settings, _LIMITS, guards))
        except HostFault as fault:
            return None, str(fault)
        notifications = _refusing(sandbox)
        try:
            async with asyncio.timeout(PROBE_SECONDS_MAX):
                answer = await asyncio.get_running_loop().sock_recv(sandbox.control, 65_536)
            found: SelfTestResult = json.loads(answer)
        except (TimeoutError, ValueError) as error:
            return None, f"the probe gave no answer: {error or 'it took too long'}"
        finally:
            if notifications is not None:
                notifications.close()
            sandbox.close()
    return found, ""


def _refusing(sandbox: Sandbox) -> SeccompNotifications | None:
    if sandbox.listener is None:
        return None
    return SeccompNotifications(sandbox.listener, {}, ThrottledLog(lambda _: None), lambda: None)


def missing_guards(guards: list[SandboxGuard], done_without: tuple[str, ...] = ()) -> list[SandboxGuard]:
    """Required guards that failed and are not waived in `host.guards_done_without`."""
    return [g for g in guards if g.needed and not g.held and g.name not in done_without]


def working_guards(guards: list[SandboxGuard]) -> EnabledGuards:
    held = {guard.name for guard in guards if guard.held}
    return EnabledGuards(
        landlock="landlock" in held, filter="filter" in held, reporting="filter" in held
    )

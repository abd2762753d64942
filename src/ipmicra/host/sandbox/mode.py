"""The owner's setting and this machine's guards -> how the crawler runs: in a sandbox, in a process of its
own without one, or in the host's process.

Invariant: code that the owner installed may run without a sandbox where none can be made; code that a
coordinator sent may not. It runs in the host's own process only if the owner says so (`never`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ipmicra.errors import HostFault
from ipmicra.host.sandbox.code import Code, own_code
from ipmicra.host.sandbox.guards import selftest
from ipmicra.host.sandbox.guards.selftest import SandboxGuard
from ipmicra.host.settings import HostSettings


class RunMode(NamedTuple):
    """How the crawler runs here."""

    installed: Code | None  # for another process; None: the crawler runs in the host's process
    takes_bundles: bool  # whether code that a coordinator sent may run in that sandbox


async def choose_run_mode(settings: HostSettings, note: Callable[[str], None]) -> RunMode:
    """Raises HostFault if the owner requires a sandbox that cannot be made."""
    if settings.sandbox == "never":
        return RunMode(None, takes_bundles=False)
    guards = await selftest.run_selftest()
    lacking = selftest.missing_guards(guards)
    if lacking and settings.sandbox == "always":
        raise HostFault(f"host.sandbox = always: {_in_words(lacking)}; see: ipmicra host check")
    if selftest.missing_guards(guards, settings.guards_done_without):
        note(f"the crawler runs without a sandbox: {_in_words(lacking)}")
        return RunMode(own_code()._replace(is_confined=False), takes_bundles=False)
    return RunMode(own_code()._replace(guards=selftest.working_guards(guards)), takes_bundles=True)


def _in_words(lacking: list[SandboxGuard]) -> str:
    words = [f"{guard.name} ({guard.detail or 'it failed'})" for guard in lacking]
    return "missing guards: " + ", ".join(words)

"""The owner's wish and this machine's guards -> how the crawler runs here: in a sandbox, or in the dock.

Law: code that the owner installed may run in the dock where a sandbox cannot be made; code that a
coordinator sent may not.
"""

from __future__ import annotations

from collections.abc import Callable

from ipmicra.dock.sandbox import guards
from ipmicra.dock.sandbox.code import Code, own_code
from ipmicra.dock.sandbox.guards import Guard
from ipmicra.dock.settings import HostSettings
from ipmicra.errors import HostFault


async def code_to_run(settings: HostSettings, note: Callable[[str], None]) -> Code | None:
    """The installed code for a sandbox; None: in the dock. Raises HostFault where the owner insists."""
    if settings.sandbox == "never":
        return None
    tried = await guards.tried_out()
    lacking = guards.missing(tried)
    if not lacking:
        return own_code()._replace(guards=guards.to_put_up(tried))
    if settings.sandbox == "always":
        raise HostFault(f"host.sandbox = always: {_in_words(lacking)}; see: ipmicra host check")
    note(f"the crawler runs without a sandbox: {_in_words(lacking)}")
    return None


def refusal_of_dispatched_code(tried: list[Guard], settings: HostSettings) -> str | None:
    """Why code that the owner did not install may not run here; None: it may."""
    lacking = guards.missing(tried, settings.guards_done_without)
    if not lacking:
        return None
    return f"no code is taken from a coordinator on this machine: {_in_words(lacking)}"


def _in_words(lacking: list[Guard]) -> str:
    words = [f"{guard.name} ({guard.detail or 'it did not hold'})" for guard in lacking]
    return "missing guards: " + ", ".join(words)

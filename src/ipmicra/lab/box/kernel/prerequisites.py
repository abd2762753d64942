"""This machine -> what it lacks to run the box, in words that say what to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ipmicra.errors import HostFault
from ipmicra.lab.box.kernel import syscalls


def lacking() -> list[str]:
    """Empty where the box can run."""
    found = []
    if not Path("/proc/thread-self/ns/net").exists():
        found.append("Linux with network namespaces: run it on Linux, with /proc mounted")
    if os.geteuid() != 0:
        found.append("root, to make network namespaces: run it as root (sudo), or in a container")
    if not Path(syscalls.TUN).exists():
        found.append(
            f"{syscalls.TUN}: load the module (modprobe tun), or give the container that device"
        )
    if shutil.which("ip") is None:
        found.append("the program `ip`: install iproute2")
    return found or _forbidden()


def _forbidden() -> list[str]:
    """The operations that fail when tried: a sandbox may forbid both."""
    try:
        network = syscalls.new_network()
    except OSError as error:
        return [f"the right to make network namespaces (CAP_SYS_ADMIN): {error}"]
    try:
        with syscalls.inside(network):
            os.close(syscalls.new_tun("wan"))
    except OSError as error:
        return [f"the right to make TUN devices (CAP_NET_ADMIN): {error}"]
    finally:
        os.close(network)
    return []


def check() -> None:
    """Raise HostFault where the box may not run here."""
    missing = lacking()
    if missing:
        raise HostFault(f"the box needs {'; and '.join(missing)}")

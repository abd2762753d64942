"""One network namespace: made, wired, and processes started in it.

The namespace is held by a file descriptor and has no name anywhere: when this process and those inside are
gone, the kernel removes it. Processes started here are killed by the kernel when their starter dies.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

from ipmicra.errors import HostFault
from ipmicra.lab.box.kernel import syscalls
from ipmicra.lab.box.kernel.priority import before_others

DEVICE = "wan"
MTU_BYTES = 1500
QUEUE_PACKETS = 10_000


class Namespace:
    """A network namespace with `lo` and one TUN device."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._network = syscalls.new_network()
        with syscalls.inside(self._network):
            self.tun = syscalls.new_tun(DEVICE)
        self._ip(["link set lo up", f"link set {DEVICE} mtu {MTU_BYTES} txqueuelen {QUEUE_PACKETS} up"])

    def own(self, addresses: Sequence[str]) -> None:
        """Have these addresses, with everything else behind the device."""
        lines = [f"addr add {text} dev {DEVICE} {_nodad(text)}" for text in addresses]
        lines += [
            f"route replace {_everything(text)} dev {DEVICE} src {text}" for text in reversed(addresses)
        ]
        self._ip(lines)

    def own_all_but(self, others: Sequence[str], own: Sequence[str]) -> None:
        """Answer for every address (AnyIP) but those; the longest prefix wins in one table."""
        lines = [f"addr add {text} dev lo {_nodad(text)}" for text in own]
        lines += [f"route add {text} dev {DEVICE} table local" for text in others]
        lines += [f"route add local {block} dev lo table local" for block in ("0.0.0.0/0", "2000::/3")]
        self._ip(lines)

    def set_kernel(self, values: Mapping[str, str]) -> None:
        """Network settings under /proc/sys, of this namespace; those the kernel does not have are let be."""
        with syscalls.inside(self._network):
            for name, value in values.items():
                path = Path("/proc/sys") / name.replace(".", "/")
                if path.exists():
                    path.write_text(value)

    def inside(self) -> AbstractContextManager[None]:
        """This thread in here for a while."""
        return syscalls.inside(self._network)

    def socket(self, family: socket.AddressFamily, kind: socket.SocketKind) -> socket.socket:
        """A socket of this namespace, which any process may use."""
        with syscalls.inside(self._network):
            return socket.socket(family, kind)

    def start(
        self,
        line: Sequence[str | Path],
        *,
        stdin: int | None = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        pass_fds: Sequence[int] = (),
        own_session: bool = True,
    ) -> subprocess.Popen[bytes]:
        """Start a process in this namespace; it ends with this one.

        It has its own session, as on its own machine, unless it is interactive.
        """
        parent = os.getpid()

        def prepare() -> None:
            syscalls.die_with(parent)
            if own_session:
                before_others()

        with syscalls.inside(self._network):
            return subprocess.Popen(  # noqa: S603 - our own commands
                line,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=pass_fds,
                start_new_session=own_session,
                preexec_fn=prepare,
            )

    def close(self) -> None:
        for descriptor in (self.tun, self._network):
            if descriptor >= 0:
                os.close(descriptor)
        self.tun = self._network = -1

    def hand_over_tun(self) -> None:
        """The router has the device now; it is gone when the router is."""
        os.close(self.tun)
        self.tun = -1

    def _ip(self, lines: Sequence[str]) -> None:
        with syscalls.inside(self._network):
            done = subprocess.run(
                ["ip", "-batch", "-"],  # noqa: S607 - found in the path, as `needs` checked
                input="".join(f"{line}\n" for line in lines),
                text=True,
                capture_output=True,
                check=False,
            )
        if done.returncode:
            raise HostFault(f"setting up the network of {self.name} in the box: {done.stderr.strip()}")


def _everything(text: str) -> str:
    """All addresses of that one's family."""
    return "::/0" if ":" in text else "0.0.0.0/0"


def _nodad(text: str) -> str:
    return "nodad" if ":" in text else ""

"""A sandbox specification -> a sandbox with the code running in it, and the host's ends of its sockets.

Invariant: either all requested guards are in place before the first line of the code runs, or nothing
runs and the reason is raised. Everything in the sandbox is killed with the host.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from ipmicra.errors import HostFault
from ipmicra.host.sandbox.bwrap_args import DescriptorNumbers, build_command
from ipmicra.host.sandbox.guards.syscalls import Processor, this_processor
from ipmicra.host.sandbox.runtime import this_runtime
from ipmicra.host.sandbox.spec import SandboxSpec, user_to_become

READY_SECONDS_MAX = 20.0
_CREDENTIALS = struct.Struct("=iII")
_OUTPUT_BYTES_MAX = 4_000


@dataclass
class Sandbox:
    """A running sandbox. `close` it."""

    control: socket.socket  # a stream
    broker: socket.socket  # of packets
    output: int  # a pipe with what the code prints
    listener: int | None  # where forbidden calls are reported
    pid: int  # of the code, as the host sees it
    innermost: int  # a handle on the process whose end ends the sandbox
    process: subprocess.Popen[bytes]

    def freeze(self) -> None:
        """Execute nothing until thawed."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill everything in it at once; its files stay."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.innermost, signal.SIGKILL)

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    async def wait(self) -> int:
        """Wait for its exit code."""
        while self.process.poll() is None:
            await asyncio.sleep(0.02)
        return self.process.returncode

    def close(self) -> None:
        self.kill()
        self.process.kill()
        self.process.wait()
        self.control.close()
        self.broker.close()
        for fd in (self.output, self.innermost, self.listener):
            if fd is not None:
                os.close(fd)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


async def start(sandbox_spec: SandboxSpec) -> Sandbox:
    """Raises HostFault if this machine cannot provide what was requested."""
    bwrap, processor = required()
    user = user_to_become()
    if user is not None:
        _change_owner(sandbox_spec.state, user)
    with ExitStack() as inner_ends, ExitStack() as outer_ends:
        control, inner_control = open_pair(socket.SOCK_STREAM, outer_ends, inner_ends)
        broker, inner_broker = open_pair(socket.SOCK_SEQPACKET, outer_ends, inner_ends)
        guard, inner_guard = open_pair(socket.SOCK_SEQPACKET, outer_ends, inner_ends)
        guard.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        info, inner_info = open_pipe(outer_ends, inner_ends)
        output, inner_output = open_pipe(outer_ends, inner_ends)
        fds = DescriptorNumbers(
            inner_control.fileno(), inner_broker.fileno(), inner_guard.fileno(), inner_info
        )
        process = subprocess.Popen(  # noqa: S603 - our own command line
            build_command(sandbox_spec, bwrap, this_runtime(), processor, user, fds),
            stdin=subprocess.DEVNULL,
            stdout=inner_output,
            stderr=inner_output,
            pass_fds=fds,
            cwd="/",
        )
        inner_ends.close()
        try:
            pid, listener = await _wait_until_ready(guard, process, output)
            innermost = os.pidfd_open(_innermost_pid(info))
        except BaseException:
            process.kill()
            process.wait()
            raise
        guard.close()
        os.close(info)
        outer_ends.pop_all()
    return Sandbox(control, broker, output, listener, pid, innermost, process)


def required() -> tuple[str, Processor]:
    """The program that makes sandboxes, and the processor. Raises HostFault."""
    bwrap, processor = shutil.which("bwrap"), this_processor()
    if bwrap is None:
        raise HostFault(
            "no sandbox can be made: bubblewrap is missing; install it (apt install bubblewrap)"
        )
    if processor is None:
        raise HostFault(
            f"no sandbox can be made: no filter is known for a processor {os.uname().machine}"
        )
    return bwrap, processor


def open_pair(kind: int, outer: ExitStack, inner: ExitStack) -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    ours.setblocking(False)
    return outer.enter_context(ours), inner.enter_context(theirs)


def open_pipe(outer: ExitStack, inner: ExitStack) -> tuple[int, int]:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    outer.callback(_close, ours)
    inner.callback(_close, theirs)
    return ours, theirs


def _close(fd: int) -> None:
    with suppress(OSError):
        os.close(fd)


async def _wait_until_ready(
    guard: socket.socket, process: subprocess.Popen[bytes], output: int
) -> tuple[int, int | None]:
    """The code's process and the listener, once all restrictions are in place."""
    readable = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(guard, readable.set)
    try:
        async with asyncio.timeout(READY_SECONDS_MAX):
            await readable.wait()
    except TimeoutError:
        raise HostFault(f"the sandbox was not ready within {READY_SECONDS_MAX:g} s") from None
    finally:
        loop.remove_reader(guard)
    message, ancillary, _, _ = guard.recvmsg(16, socket.CMSG_SPACE(12) + socket.CMSG_SPACE(4))
    if message != b"ready":
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(process.wait, 2)
        raise HostFault(f"the sandbox could not be made: {_last_output(output)}")
    pid, listener = 0, None
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            pid = _CREDENTIALS.unpack(data)[0]
        elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            (listener,) = struct.unpack("=i", data)
    return pid, listener


def _innermost_pid(info: int) -> int:
    return int(json.loads(os.read(info, 4096))["child-pid"])


def _last_output(output: int) -> str:
    try:
        said = os.read(output, _OUTPUT_BYTES_MAX).decode(errors="replace").strip()
    except BlockingIOError:
        said = ""
    return said.splitlines()[-1] if said else "no output"


def _change_owner(folder: Path, user: int) -> None:
    """The code owns its state folder."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)

"""A sandbox specification -> the code in a process of its own, without a sandbox.

The host talks to it, connects for it, watches over it and ends it as it does with a sandbox. Invariant: it
ends with the host. Nothing else restrains it, so code that a coordinator sent is never started here.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import ExitStack

from ipmicra.host.sandbox.launch import Sandbox, open_pair, open_pipe
from ipmicra.host.sandbox.spec import SandboxSpec


def start_plain(spec: SandboxSpec) -> Sandbox:
    with ExitStack() as inner_ends, ExitStack() as outer_ends:
        control, inner_control = open_pair(socket.SOCK_STREAM, outer_ends, inner_ends)
        broker, inner_broker = open_pair(socket.SOCK_SEQPACKET, outer_ends, inner_ends)
        output, inner_output = open_pipe(outer_ends, inner_ends)
        fds = (inner_control.fileno(), inner_broker.fileno())
        process = subprocess.Popen(  # noqa: S603 - our own command line
            _command(spec, *fds),
            stdin=subprocess.DEVNULL,
            stdout=inner_output,
            stderr=inner_output,
            pass_fds=fds,
            cwd=spec.state,
            env={**os.environ, "PYTHONPATH": str(spec.code)},
            start_new_session=True,  # Ctrl-C is for the host, which stops it in an orderly way
        )
        handle = os.pidfd_open(process.pid)
        outer_ends.pop_all()
    return Sandbox(control, broker, output, None, process.pid, handle, process)


def _command(spec: SandboxSpec, control: int, broker: int) -> list[str]:
    return [
        *(sys.executable, "-m", spec.program),
        *("--settings", str(spec.settings), "--state", str(spec.state)),
        *("--control", str(control), "--broker", str(broker)),
    ]

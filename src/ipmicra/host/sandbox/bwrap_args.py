"""A sandbox specification and the numbers of open sockets -> the command line that creates the sandbox.

Invariant: pure, except for checking which folders exist. Only the state folder is writable. No device
except /dev/null and /dev/urandom, no /proc and no tmpfs, since the owner's limits do not cover those.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from ipmicra.host.sandbox import init, spec
from ipmicra.host.sandbox.guards import seccomp_filter
from ipmicra.host.sandbox.guards.syscalls import Processor, number_of
from ipmicra.host.sandbox.runtime import Runtime
from ipmicra.host.sandbox.spec import SandboxSpec


class DescriptorNumbers(NamedTuple):
    """Open files that the sandbox inherits."""

    control: int
    broker: int
    guard: int
    info: int


def build_command(
    wanted: SandboxSpec,
    bwrap: str,
    runtime: Runtime,
    processor: Processor,
    user: int | None,
    fds: DescriptorNumbers,
) -> list[str]:
    """The command to execute; `user` is the user that the code runs as when the host is root."""
    config = json.dumps(_init_config(wanted, runtime, processor, user, fds))
    return [
        bwrap,
        *_namespace_args(user),
        *_mount_args(wanted, runtime),
        *("--info-fd", str(fds.info)),
        "--",
        *(runtime.python, "-I", "-S", "-B", "-X", "utf8", spec.ENTRY, config),
    ]


def _namespace_args(user: int | None) -> list[str]:
    """Namespaces and privileges."""
    if user is None:
        nobody = str(spec.NOBODY)
        who = ["--unshare-user", "--disable-userns", "--uid", nobody, "--gid", nobody]
    else:  # the init program drops what is left
        who = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    return [
        *("--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--hostname", "crawler", "--die-with-parent", "--new-session", "--clearenv"),
        *(
            "--setenv",
            "LANG",
            "C.UTF-8",
            "--setenv",
            "TMPDIR",
            spec.STATE,
            "--setenv",
            "HOME",
            spec.STATE,
        ),
        *("--setenv", "SQLITE_TMPDIR", spec.STATE),
        *("--cap-drop", "ALL", *who),
    ]


def _mount_args(wanted: SandboxSpec, runtime: Runtime) -> list[str]:
    """Files."""
    shown = [*runtime.folders, *map(str, wanted.readable)]
    paths = [*shown, *(link_path for _, link_path in runtime.links), "/dev/null"]
    return [
        *(word for path in _parents(paths) for word in ("--perms", "0755", "--dir", path)),
        *(word for path in shown for word in ("--ro-bind", path, path)),
        *(word for target, link_path in runtime.links for word in ("--symlink", target, link_path)),
        *("--ro-bind", str(wanted.code), spec.CODE),
        *("--ro-bind", str(wanted.settings), spec.SETTINGS),
        *("--ro-bind", str(Path(init.__file__).resolve()), spec.ENTRY),
        *("--bind", str(wanted.state), spec.STATE),
        *("--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/dev/urandom", "/dev/urandom"),
        *("--remount-ro", "/", "--chdir", "/"),
    ]


def _parents(paths: list[str]) -> list[str]:
    """The parent folders to create, outermost first."""
    parents = {str(parent) for link_path in paths for parent in Path(link_path).parents}
    return sorted(parents - {"/"})


def _init_config(
    wanted: SandboxSpec, runtime: Runtime, processor: Processor, user: int | None, fds: DescriptorNumbers
) -> init.InitConfig:
    guards = wanted.guards
    program = seccomp_filter.program(processor, guards.reporting) if guards.filter else b""
    return {
        "user": user,
        "limits": wanted.limits.for_the_kernel(),
        "landlock": guards.landlock,
        "filter": program.hex(),
        "filter_call": number_of("seccomp", processor) or -1,
        "reporting": guards.filter and guards.reporting,
        "guard": fds.guard,
        "code": spec.CODE,
        "state": spec.STATE,
        "packages": list(runtime.packages),
        "program": wanted.program,
        "arguments": [
            *("--settings", spec.SETTINGS, "--state", spec.STATE),
            *("--control", str(fds.control), "--broker", str(fds.broker)),
        ],
    }

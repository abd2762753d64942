"""System calls forbidden to dispatched code -> a seccomp program that blocks them.

The table below is the policy; the rest is a small assembler for the kernel's packet-filter machine.
Invariant: pure. Calls of another architecture and calls that we do not know yet are blocked. A forbidden
call is *reported* (the host is notified and answers "not permitted") or, where honest code tries it and
falls back, silently answered "no such call".
"""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

from ipmicra.host.sandbox.guards.syscalls import NEWEST_KNOWN, Processor, number_of


class FilterCondition(NamedTuple):
    """A condition on the low half of an argument: `(argument & mask) == value`, or not so."""

    argument: int
    mask: int
    value: int
    negated: bool = False


_WHOLE = 0xFFFF_FFFF
_AF_UNIX = 1
_CLONE_THREAD = 0x0001_0000
_CLONE_NEW = (0x0002_0000, *(1 << bit for bit in range(25, 31)))  # namespaces, one bit each
_MSG_FASTOPEN = 0x2000_0000
_SHARED_ANONYMOUS = 0x21
_SETTABLE_LEVELS_NOT = (0, 41)  # IPPROTO_IP, IPPROTO_IPV6: source routes and the like
_FAMILY, _SOCKET_IOCTLS = 0xFF00, 0x8900  # linux/sockios.h
_SO_BINDTODEVICE = 25  # at any level: TCP's option of that number is not used here
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_PR_SET_PDEATHSIG = 1

# Forbidden if any condition holds. The most frequent calls come first.
FORBIDDEN_WHEN: dict[str, tuple[FilterCondition, ...]] = {
    "sendto": (FilterCondition(3, _MSG_FASTOPEN, _MSG_FASTOPEN),),  # would connect an unconnected socket
    "sendmsg": (FilterCondition(2, _MSG_FASTOPEN, _MSG_FASTOPEN),),
    "mmap": (FilterCondition(3, _SHARED_ANONYMOUS, _SHARED_ANONYMOUS),),  # memory that no limit covers
    "ioctl": (
        FilterCondition(1, _WHOLE, _TIOCSTI),
        FilterCondition(1, _WHOLE, _TIOCLINUX),
        FilterCondition(1, _FAMILY, _SOCKET_IOCTLS),  # interfaces, their addresses, routes
    ),
    "setsockopt": (
        *(FilterCondition(1, _WHOLE, level) for level in _SETTABLE_LEVELS_NOT),
        FilterCondition(2, _WHOLE, _SO_BINDTODEVICE),
    ),
    "sendmmsg": (FilterCondition(3, _MSG_FASTOPEN, _MSG_FASTOPEN),),
    "clone": (
        FilterCondition(0, _CLONE_THREAD, 0),  # a process; threads are limited by number
        *(FilterCondition(0, bit, bit) for bit in _CLONE_NEW),
    ),
    "socketpair": (FilterCondition(0, _WHOLE, _AF_UNIX, negated=True),),
    "prctl": (FilterCondition(0, _WHOLE, _PR_SET_PDEATHSIG),),  # to outlive the host
}

FORBIDDEN = (
    *("socket", "connect", "bind", "listen", "accept", "accept4"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_open", "pidfd_getfd", "kcmp"),
    *("fork", "vfork", "execve", "execveat"),
    *("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig"),
    *("fsmount", "fspick", "mount_setattr", "open_by_handle_at", "name_to_handle_at"),
    *("unshare", "setns", "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd"),
    *("memfd_create", "memfd_secret", "shmget", "shmat", "msgget", "semget", "mq_open"),
    *("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups"),
    *("setfsuid", "setfsgid", "capset", "personality", "seccomp"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
    *("swapon", "swapoff", "sethostname", "setdomainname", "quotactl", "acct", "syslog", "vhangup"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "fanotify_init"),
)
UNKNOWN_CALLS = ("clone3",)  # the C library then starts its threads by clone, whose flags can be seen

# linux/seccomp.h
_KILL, _ALLOW = 0x8000_0000, 0x7FFF_0000
_REPORT = 0x7FC0_0000  # SECCOMP_RET_USER_NOTIF
_REFUSE = 0x0005_0000  # SECCOMP_RET_ERRNO, with the error in the low bits
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
# linux/bpf_common.h
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_IF_EQUAL, _IF_GREATER = 0x15, 0x25
_INSTRUCTION = struct.Struct("=HBBI")


class _Step(NamedTuple):
    code: int
    value: int
    skip_if_true: int = 0
    skip_if_false: int = 0


def program(processor: Processor, reporting: bool = True) -> bytes:
    """The filter in the kernel's format. Without reporting, forbidden calls fail silently."""
    action = _REPORT if reporting else _REFUSE | errno.EPERM
    steps = [
        _Step(_LOAD, _ARCH_AT),
        _Step(_IF_EQUAL, processor.audit_arch, 1, 0),
        _Step(_RETURN, _KILL),
        _Step(_LOAD, _NUMBER_AT),
    ]
    for name, conditions in FORBIDDEN_WHEN.items():
        steps += _conditional(number_of(name, processor), conditions, action)
    for name in FORBIDDEN:
        steps += _flat(number_of(name, processor), action)
    for name in UNKNOWN_CALLS:
        steps += _flat(number_of(name, processor), _REFUSE | errno.ENOSYS)
    steps += [
        _Step(_IF_GREATER, NEWEST_KNOWN, 0, 1),  # x32's calls among them, which have a high bit set
        _Step(_RETURN, _REFUSE | errno.ENOSYS),
        _Step(_RETURN, _ALLOW),
    ]
    return b"".join(
        _INSTRUCTION.pack(step.code, step.skip_if_true, step.skip_if_false, step.value) for step in steps
    )


def _flat(number: int | None, action: int) -> list[_Step]:
    if number is None:
        return []
    return [_Step(_IF_EQUAL, number, 0, 1), _Step(_RETURN, action)]


def _conditional(
    number: int | None, conditions: tuple[FilterCondition, ...], action: int
) -> list[_Step]:
    """The call is let through at the end of its block, so the number needs no second load."""
    if number is None:
        return []
    body: list[_Step] = []
    for when in conditions:
        body += [
            _Step(_LOAD, _ARGUMENTS_AT + 8 * when.argument),
            _Step(_AND, when.mask),
            _Step(_IF_EQUAL, when.value, int(when.negated), int(not when.negated)),
            _Step(_RETURN, action),
        ]
    body.append(_Step(_RETURN, _ALLOW))
    return [_Step(_IF_EQUAL, number, 0, len(body)), *body]

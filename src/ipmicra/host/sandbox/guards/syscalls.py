"""Names of system calls -> their numbers on the processors we know.

Invariant: a name that a processor does not have is simply absent there. Numbers are those of Linux's
asm/unistd_64.h (x86_64) and asm-generic/unistd.h (aarch64).
"""

from __future__ import annotations

import platform
from typing import NamedTuple

NEWEST_KNOWN = 462  # what the kernel has gained since is not for dispatched code


class Processor(NamedTuple):
    """The numbers of system calls on one kind of processor."""

    column: int
    audit_arch: int  # AUDIT_ARCH_* of linux/audit.h


PROCESSORS = {"x86_64": Processor(0, 0xC000_003E), "aarch64": Processor(1, 0xC000_00B7)}

_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "socketpair": (53, 199),
    "setsockopt": (54, 208),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "unshare": (272, 97),
    "setns": (308, 268),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    "clone": (56, 220),
    "clone3": (435, 435),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setgroups": (116, 159),
    "setfsuid": (122, 151),
    "setfsgid": (123, 152),
    "capset": (126, 91),
    "personality": (135, 92),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "fanotify_init": (300, 262),
    "seccomp": (317, 277),
    "prctl": (157, 167),
    "ioctl": (16, 29),
    "mmap": (9, 222),
    "syslog": (103, 116),
    "vhangup": (153, 58),
}


def this_processor() -> Processor | None:
    """None if we have no numbers for it."""
    return PROCESSORS.get(platform.machine())


def number_of(name: str, processor: Processor) -> int | None:
    return _NUMBERS[name][processor.column]


def names_by_number(processor: Processor) -> dict[int, str]:
    numbers = {number_of(name, processor): name for name in _NUMBERS}
    return {number: name for number, name in numbers.items() if number is not None}

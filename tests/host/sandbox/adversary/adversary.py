"""Dispatched code with the worst intentions: tries what its settings name, and says what came of it.

Runs in a sandbox only, with nothing of ipmicra at hand. What an attack returns is what it has won; an
exception is what stopped it. Both are written to the state folder and printed.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

LIBC = ctypes.CDLL(None, use_errno=True)
AF_UNSPEC = struct.pack("=H14x", 0)


def called(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Attacker:
    def __init__(self, settings: dict[str, Any], control: int, broker: int) -> None:
        self.settings, self.control = settings, socket.socket(fileno=control)
        self.broker = socket.socket(fileno=broker)
        self.asked = 0

    def ask(self, **question: object) -> tuple[dict[str, Any], socket.socket | None]:
        self.asked += 1
        self.broker.send(msgspec.msgpack.encode({"number": self.asked, **question}))
        packet, fds, _, _ = socket.recv_fds(self.broker, 65_536, 1)
        return msgspec.msgpack.decode(packet), socket.socket(fileno=fds[0]) if fds else None

    def connection(self, address: str = "", port: int = 0, name: str = "") -> socket.socket:
        """A passed socket; by default to the site that may be crawled."""
        address, port = address or "127.0.0.1", port or self.settings["site_port"]
        answer, sock = self.ask(
            type="connect", name=name or address, address=address, port=port, patience_ms=2_000
        )
        if sock is None:
            raise OSError(f"the broker says: {answer['failure']}: {answer['detail']}")
        return sock

    # --- the network --------------------------------------------------------------------------------

    def connect(self) -> object:
        return socket.create_connection(("127.0.0.2", self.settings["lan_port"]), 2)

    def raw_inet(self) -> object:
        return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

    def raw_packet(self) -> object:
        return socket.socket(socket.AF_PACKET, socket.SOCK_RAW)

    def netlink(self) -> object:
        return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)

    def vsock(self) -> object:
        return socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)

    def local_socket(self) -> object:
        return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def bind(self) -> object:
        self.connection().bind(("127.0.0.1", 0))
        return "bound a passed socket"

    def listen(self) -> object:
        self.connection().listen()
        return "listens on a passed socket"

    def unspec(self) -> object:
        """Disconnect a passed socket, and connect it to the LAN."""
        sock = self.connection()
        called(LIBC.connect(sock.fileno(), AF_UNSPEC, 16))
        return "disconnected a passed socket"

    def reconnect(self) -> object:
        """The same, whether the disconnecting works or not."""
        sock = self.connection()
        sock.setblocking(True)
        LIBC.connect(sock.fileno(), AF_UNSPEC, 16)
        sock.connect(("127.0.0.2", self.settings["lan_port"]))
        return sock.getpeername()

    def fast_open(self) -> object:
        sock = self.connection()
        return sock.sendto(b"x", 0x2000_0000, ("127.0.0.2", self.settings["lan_port"]))

    def source_route(self) -> object:
        return self.connection().setsockopt(
            socket.IPPROTO_IP, socket.IP_OPTIONS, b"\x83\x07\x04\x7f\0\0\2"
        )

    def list_interfaces(self) -> object:
        return fcntl.ioctl(self.connection(), 0x8912, b"\0" * 16)  # SIOCGIFCONF

    def bind_to_an_interface(self) -> object:
        return self.connection().setsockopt(socket.SOL_SOCKET, 25, b"lo\0")  # SO_BINDTODEVICE

    def ask_for_the_lan(self) -> object:
        return self.connection("127.0.0.2", self.settings["lan_port"])

    def ask_for_the_cloud(self) -> object:
        return self.connection("169.254.169.254", 80)

    def ask_for_the_wrapped_cloud(self) -> object:
        return self.connection("::ffff:169.254.169.254", 80)

    def ask_for_mail(self) -> object:
        return self.connection("127.0.0.1", 25)

    def ask_under_a_false_name(self) -> object:
        return self.connection("127.0.0.1", self.settings["site_port"], "site.example")

    def ask_for_too_many(self) -> object:
        return len([self.connection() for _ in range(self.settings["connections_max"] + 1)])

    def speak_nonsense(self) -> object:
        self.broker.send(b"\xc1 not a question")
        return self.connection().getpeername()

    def upload(self) -> object:
        sock = self.connection()
        for _ in range(64):
            sock.sendall(b"x" * 16_384)
        time.sleep(1)
        raise OSError("sent, and counted")

    # --- the kernel ---------------------------------------------------------------------------------

    def io_uring(self) -> object:
        return called(LIBC.syscall(425, 8, ctypes.create_string_buffer(256)))

    def ptrace(self) -> object:
        return called(LIBC.ptrace(16, 1, 0, 0))  # PTRACE_ATTACH

    def read_others(self) -> object:
        return called(LIBC.process_vm_readv(1, None, 0, None, 0, 0))

    def mount(self) -> object:
        return called(LIBC.mount(b"none", b"/state", b"tmpfs", 0, None))

    def namespace(self) -> object:
        return called(LIBC.unshare(0x1000_0000))  # CLONE_NEWUSER

    def keys(self) -> object:
        return called(LIBC.syscall(250, 0, -3, 1, 0, 0))

    def bpf(self) -> object:
        return called(LIBC.syscall(321, 0, ctypes.create_string_buffer(128), 128))

    def become_root(self) -> object:
        os.setuid(0)
        return os.getuid()

    def run_a_program(self) -> object:
        return os.execv("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", ["ld"])

    def never_give_up(self) -> object:
        while True:
            LIBC.syscall(41, 2, 1, 0)

    # --- the machine --------------------------------------------------------------------------------

    def fork_bomb(self) -> object:
        while True:
            os.fork()

    def thread_bomb(self) -> object:
        for count in range(10_000):
            try:
                threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
            except RuntimeError as error:
                if count > 200:
                    return count
                raise OSError(f"{error}, after {count}") from error
        return "ten thousand threads"

    def memory(self) -> object:
        return len(bytearray(self.settings["memory_bytes_max"]))

    def shared_memory(self) -> object:
        return len(mmap.mmap(-1, 1 << 30))

    def unnamed_memory(self) -> object:
        return os.memfd_create("hidden")

    def large_file(self) -> object:
        with Path("large").open("wb") as file:
            for _ in range(self.settings["disk_bytes_max"] // (1 << 20) + 1):
                file.write(bytes(1 << 20))
                file.flush()
        return "wrote it"

    def many_files(self) -> object:
        for number in range(100_000):
            Path(f"file-{number}").write_bytes(bytes(4 << 20))
        return "wrote them"

    def removed_files(self) -> object:
        kept: list[BinaryIO] = []
        while True:
            name = f"hidden-{len(kept) % 40}"
            kept.append(Path(name).open("wb"))  # noqa: SIM115 - kept open, that is the attack
            Path(name).unlink()
            kept[-1].write(bytes(4 << 20))
            kept[-1].flush()

    def processor(self) -> object:
        until = time.monotonic() + self.settings["seconds"]
        while time.monotonic() < until:
            pass
        return f"{time.process_time():.3f}"

    # --- the owner ----------------------------------------------------------------------------------

    def read_the_home_folder(self) -> object:
        return list(Path(self.settings["secret_folder"]).iterdir())

    def read_passwords(self) -> object:
        return Path("/etc/shadow").read_text() or Path("/etc/passwd").read_text()

    def read_the_hosts_key(self) -> object:
        return Path("/state/../key").read_bytes()

    def look_at_processes(self) -> object:
        return list(Path("/proc").iterdir())

    def change_the_rules(self) -> object:
        return Path("/settings.json").write_text("{}")

    def change_its_code(self) -> object:
        return Path("/code/adversary.py").write_text("")

    def raise_limits(self) -> object:
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_DATA, unlimited)
        return resource.getrlimit(resource.RLIMIT_DATA)

    def lay_a_link(self) -> object:
        Path("spool").mkdir(exist_ok=True)
        Path("spool/package-1").symlink_to("/etc/shadow")
        return "laid a link"

    def outlive(self) -> object:
        """Deaf to all signals and to its parent's death."""
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                continue
        called(LIBC.prctl(1, 0, 0, 0, 0))
        return "it will outlive the host"

    def deaf(self) -> object:
        while True:
            Path("alive").write_text(str(time.process_time()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--broker", type=int, required=True)
    given = parser.parse_args()
    settings = json.loads(given.settings.read_text())
    attacker = Attacker(settings, given.control, given.broker)
    try:
        outcome = {"won": str(getattr(attacker, settings["attack"])())}
    except (OSError, MemoryError, ValueError) as error:
        outcome = {"stopped": f"{type(error).__name__}: {error}"}
        sys.stderr.write(f"{settings['attack']}: {outcome['stopped']}\n")
    Path("outcome.new").write_text(json.dumps(outcome))
    Path("outcome.new").rename("outcome")
    while settings.get("stay"):
        time.sleep(1)


if __name__ == "__main__":
    main()

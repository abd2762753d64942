"""A PostgreSQL server of the test's own, on a Unix socket in a temporary folder, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.system_parts import needed

UNPRIVILEGED = "postgres"  # the server refuses to run as root; the Debian package brings this user


@contextmanager
def postgresql_server() -> Iterator[str]:
    """The address of a fresh, empty database."""
    programs = needed("initdb").parent
    folder = Path(tempfile.mkdtemp(prefix="ipmicra-postgresql-"))
    try:
        if os.getuid() == 0:
            owner = pwd.getpwnam(UNPRIVILEGED)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        data = folder / "data"
        _run(programs / "initdb", "-D", data, "-U", UNPRIVILEGED, "--auth=trust", "--no-sync")
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        _run(programs / "pg_ctl", "-D", data, "-o", settings, "-l", folder / "log", "-w", "start")
        try:
            yield f"postgresql://{UNPRIVILEGED}@/postgres?host={folder}"
        finally:
            _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*command: object) -> None:
    words = [str(word) for word in command]
    if os.getuid() == 0:
        words = ["runuser", "-u", UNPRIVILEGED, "--", *words]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

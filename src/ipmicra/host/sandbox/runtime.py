"""The Python that runs the host -> the folders of it that a sandbox needs, mounted read-only.

Invariant: libraries, the interpreter, installed packages and certificates; no personal files, no other
programs, no settings, no name service.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import NamedTuple

_LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_DATA = (
    "/etc/ld.so.cache",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/usr/share/ca-certificates",
    "/usr/share/zoneinfo",
)


class Runtime(NamedTuple):
    """The folders that are mounted from the host, each at its own path."""

    python: str
    folders: tuple[str, ...]  # and single files
    links: tuple[tuple[str, str], ...]  # target, and path of the link
    packages: tuple[str, ...]  # where installed packages are found


@cache
def this_runtime() -> Runtime:
    python = os.path.realpath(sys.executable)
    packages = tuple(
        dict.fromkeys(str(Path(sysconfig.get_path(kind)).resolve()) for kind in ("purelib", "platlib"))
    )
    links = tuple((str(Path(path).readlink()), path) for path in _LIBRARIES if Path(path).is_symlink())
    libraries = [path for path in _LIBRARIES if Path(path).is_dir() and not Path(path).is_symlink()]
    interpreter = [python] if sys.base_prefix in ("/usr", "/usr/local") else [sys.base_prefix]
    wanted = [*libraries, *interpreter, *packages, *(path for path in _DATA if Path(path).exists())]
    return Runtime(python, tuple(_outermost(wanted)), links, packages)


def _outermost(paths: list[str]) -> list[str]:
    """Without those that are inside another one of them."""
    return [
        path
        for path in dict.fromkeys(paths)
        if not any(path != other and Path(path).is_relative_to(other) for other in paths)
    ]

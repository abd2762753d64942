"""Python, ipmicra, the compiled reader, the extras and the sandbox -> what this machine can do."""

from __future__ import annotations

import asyncio
import importlib.util
import platform
import sys

from ipmicra import __version__
from ipmicra.cli.doctor.finding import Result, ok, problem, warning
from ipmicra.cli.doctor.installation import Installation
from ipmicra.cli.extras import OF_LIBRARY
from ipmicra.crawler.extraction import compiled_markup
from ipmicra.host.sandbox.guards.selftest import missing_guards, run_selftest

PYTHON_LEAST = (3, 11)  # requires-python of pyproject.toml
SELFTEST_SECONDS_MAX = 45.0  # two sandboxes, 20 s each at most
EXTRAS = {
    "search": "ipmicra search",
    "coordinator": "ipmicra coordinator, registry and overlay",
    "lab": "ipmicra demo and lab",
    "pdf": "reading PDF files",
    "s3": "packages in S3",
    "export": "ipmicra export --as parquet",
}


def check_versions() -> Result:
    written = f"ipmicra {__version__} on Python {platform.python_version()}"
    if sys.version_info < PYTHON_LEAST:
        return problem(written, f"install Python {'.'.join(map(str, PYTHON_LEAST))} or later")
    return ok(written)


def check_compiled_reader() -> Result:
    if compiled_markup.read is not None:
        return ok("installed")
    return warning(
        "not installed, or built for another version: pages are read more slowly, with the same results",
        "install the wheel for this platform, or Rust 1.85 and run: make setup",
    )


def check_extra(extra: str, installation: Installation | None) -> Result:
    """Whether an extra is installed; it is missed only where this installation uses it."""
    missing = [
        library for library, of in OF_LIBRARY.items() if of == extra and not _is_installed(library)
    ]
    if not missing:
        return ok(f"installed: {EXTRAS[extra]}")
    found, command = f"lacks {', '.join(missing)}: {EXTRAS[extra]}", f"pip install 'ipmicra[{extra}]'"
    if installation is not None and extra in _extras_used(installation):
        return problem(f"{found}; this installation needs it", f"run: {command}")
    return ok(f"{found}; nothing here needs it", f"to add it: {command}")


def _extras_used(installation: Installation) -> set[str]:
    used = set()
    if installation.is_search_engine:
        used.add("search")
    if installation.is_coordinator:
        used |= {"search", "coordinator"}
    if installation.settings.coordinator.packages.startswith("s3://"):
        used.add("s3")
    return used


def _is_installed(library: str) -> bool:
    try:
        return importlib.util.find_spec(library) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def check_sandbox(installation: Installation) -> Result:
    """As `ipmicra host check`."""
    waived = installation.settings.host.guards_done_without
    lacking = missing_guards(asyncio.run(run_selftest()), waived)
    if not lacking:
        return ok("all required guards hold")
    reasons = [f"{guard.name} ({guard.detail})" if guard.detail else guard.name for guard in lacking]
    found = f"missing: {', '.join(reasons)}; code that a coordinator sends is refused here"
    advice = "install bubblewrap and allow user namespaces; ipmicra host check has the details"
    return problem(found, advice) if installation.is_host else warning(found, advice)

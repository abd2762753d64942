"""An installation -> the list of all checks, in the order in which a person would fix what they find."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ipmicra.cli.doctor import clock, data_folder, network, software, storage
from ipmicra.cli.doctor.finding import Check, Result, ok, problem, warning
from ipmicra.cli.doctor.installation import Installation
from ipmicra.errors import Fault

STORAGE_SECONDS_MAX = 30.0  # S3 takes up to 25 s, a large SQLite file as long as its disk


def all_checks(installation: Installation) -> Iterator[Check]:
    at = installation
    yield Check("settings", partial(_settings_read, at))
    yield Check("data folder", partial(data_folder.check_folder, at))
    yield Check("file modes", partial(data_folder.check_modes, at))
    yield Check("disk space", partial(data_folder.check_disk, at))
    yield Check("clock", partial(clock.check_clock, at))
    yield Check("coordinator's clock", partial(clock.check_against_coordinator, at))
    yield Check("port", partial(network.check_port, at))
    yield Check("name servers", partial(network.check_resolver, at))
    yield Check("database", partial(storage.check_database, at), STORAGE_SECONDS_MAX)
    yield Check("package store", partial(storage.check_packages, at), STORAGE_SECONDS_MAX)
    yield Check("search index", partial(storage.check_index, at), STORAGE_SECONDS_MAX)
    yield Check("sandbox", partial(software.check_sandbox, at), software.SELFTEST_SECONDS_MAX)
    yield from _software_checks(at)


def checks_without_settings(fault: Fault) -> Iterator[Check]:
    """The checks that need no settings."""
    yield Check("settings", lambda: problem(str(fault), "correct it there"))
    yield Check(
        "everything else",
        lambda: warning("not looked at: it depends on the settings", "run this again after that"),
    )
    yield from _software_checks(None)


def _software_checks(installation: Installation | None) -> Iterator[Check]:
    yield Check("versions", software.check_versions)
    yield Check("compiled reader", software.check_compiled_reader)
    for extra in software.EXTRAS:
        yield Check(f"extra {extra}", partial(software.check_extra, extra, installation))


def _settings_read(installation: Installation) -> Result:
    changed = sorted({source for source in installation.sources.values() if source != "default"})
    return ok(f"read from {', '.join(changed)}" if changed else "all at their defaults")

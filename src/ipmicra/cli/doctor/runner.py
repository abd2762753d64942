"""Checks -> findings, one after the other, each within its deadline.

Invariant: a check that raises or hangs is reported as a problem, and the next one runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from ipmicra.cli.doctor.finding import Check, Finding, Result, problem
from ipmicra.cli.extras import extra_missing
from ipmicra.errors import Fault


def run_checks(checks: Iterable[Check]) -> Iterator[Finding]:
    for check in checks:
        result = _result_in_time(check)
        if result is not None:
            yield Finding(
                severity=result.severity,
                subject=check.subject,
                found=result.found,
                advice=result.advice,
            )


def _result_in_time(check: Check) -> Result | None:
    """In a thread that is left behind where it hangs; it does not keep the process alive."""
    results: list[Result | None] = []
    thread = threading.Thread(
        target=lambda: results.append(_result(check)), name=f"check {check.subject}", daemon=True
    )
    thread.start()
    thread.join(check.deadline_s)
    if not results:
        return problem(
            f"no result within {check.deadline_s:g} s",
            "find out what this machine waits for: a dead mount, a busy disk, or a silent server",
        )
    return results[0]


def _result(check: Check) -> Result | None:
    try:
        return check.look()
    except ModuleNotFoundError as missing:
        return problem(f"cannot be checked: {extra_missing(check.subject, missing)}", "install it")
    except Fault as fault:
        return problem(str(fault), "follow the message")
    except Exception as error:
        return problem(
            f"the check itself failed: {type(error).__name__}: {error}",
            "the other checks are not affected; report this as a defect",
        )

"""`ipmicra doctor`: what is wrong with this installation, and what to do about it."""

from __future__ import annotations

import click
import msgspec
from rich.table import Table
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.doctor.checkup import all_checks, checks_without_settings
from ipmicra.cli.doctor.finding import Finding, Severity
from ipmicra.cli.doctor.installation import Installation
from ipmicra.cli.doctor.runner import run_checks
from ipmicra.cli.options.listen_option import parse_listen

_STYLES = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.PROBLEM: "bold red"}


class DoctorReport(msgspec.Struct, frozen=True):
    """The output of `--json`."""

    is_well: bool  # no finding is a problem
    findings: list[Finding]


@click.command()
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    help="Where the coordinator listens, if not at its default 127.0.0.1:8790.",
)
@terminal.json_option
@click.pass_context
def command(context: click.Context, listen: str | None, as_json: bool) -> int:
    """Check this installation, and say what to do about each problem.

    Looks at settings, data folder, disk, clock, port, name servers, database, package store, search
    index, sandbox and installed extras. Nothing is changed. The exit code is 1 if there is a problem;
    warnings alone leave it at 0.

    \b
    Examples:
      ipmicra doctor
      ipmicra doctor --json
      ipmicra doctor --listen 0.0.0.0:8790
    """
    if listen is not None:
        parse_listen(listen)
    report = _report(context, listen)
    terminal.show(report, as_json, lambda: _table(report))
    return 0 if report.is_well else 1


def _report(context: click.Context, listen: str | None) -> DoctorReport:
    fault = terminal.settings_fault_of(context)
    if fault is not None:
        checks = checks_without_settings(fault)
    else:
        sources = {row.name: row.source for row in terminal.settings_rows(context)}
        checks = all_checks(Installation(terminal.settings_of(context), sources, listen))
    findings = list(run_checks(checks))
    return DoctorReport(all(each.severity is not Severity.PROBLEM for each in findings), findings)


def _table(report: DoctorReport) -> Table:
    table = Table("", "looked at", "found", "what to do")
    for finding in report.findings:
        table.add_row(
            Text(finding.severity, style=_STYLES[finding.severity]),
            finding.subject,
            Text(terminal.strip_control(finding.found)),
            Text(terminal.strip_control(finding.advice)),
        )
    return table

"""`ipmicra export`: crawled pages, for other tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from ipmicra.carrier.export import write_json_lines, write_parquet
from ipmicra.carrier.package import Package, PackageFile, PackageRefused, unpack
from ipmicra.carrier.page_delta import changed_urls, resolve_all
from ipmicra.cli import terminal
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.search.spool_ingest import waiting_packages


@click.command()
@click.option(
    "--as", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", show_default=True,
    help="JSON lines with every record, or Parquet with the pages.",
)  # fmt: skip
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="The file to write; without it, JSON lines go to stdout.",
)
@click.pass_context
def command(context: click.Context, form: str, output: Path | None) -> None:
    """Export what the packages in the data folder hold.

    \b
    Examples:
      ipmicra export --output pages.jsonl
      ipmicra export --as parquet --output pages.parquet
      ipmicra export | head -1
    """
    folder = terminal.settings_of(context).data_folder
    packages = waiting_packages(folder)
    if not packages:
        raise OperatorFault(
            f"{folder} has no packages of `ipmicra crawl`: crawl first, or set general.data_folder"
        )
    left_out: list[str] = []
    with terminal.progress() as progress:
        task = progress.add_task("exporting packages", total=len(packages))
        urls = changed_urls(_unpack(packages, lambda: None, []))
        opened = resolve_all(_unpack(packages, lambda: progress.advance(task), left_out), urls)
        count = _write(opened, form, output)
    terminal.print_note(f"{count} records of {len(packages) - len(left_out)} packages")
    if left_out:
        raise HostFault(f"{len(left_out)} damaged packages were left out: {'; '.join(left_out)}")


def _write(packages: Iterator[Package], form: str, output: Path | None) -> int:
    if form == "parquet":
        if output is None:
            raise OperatorFault("exporting to Parquet needs --output FILE")
        return write_parquet(packages, output)
    if output is None:
        return write_json_lines(packages, sys.stdout.buffer)
    with output.open("wb") as file:
        return write_json_lines(packages, file)


def _unpack(
    packages: list[PackageFile], advance: Callable[[], None], left_out: list[str]
) -> Iterator[Package]:
    for package in packages:
        try:
            yield unpack(package.path.read_bytes())
        except PackageRefused as reason:
            left_out.append(f"{package.path.name}: {reason}")
        advance()

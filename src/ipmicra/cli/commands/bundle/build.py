"""`ipmicra bundle build`: the installed crawler as one file."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.coordinator.bundles.contents import contents
from ipmicra.protocol.bundle_format import pack
from ipmicra.protocol.versions import checked_version

PROGRAM = "ipmicra.host.hosted.guest.program"


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--version", required=True, help="Version, such as 1.4.2; newer than all before.")
@click.option("--program", default=PROGRAM, show_default=True, help="Module that a host runs.")
@terminal.json_option
def command(file: Path, version: str, program: str, as_json: bool) -> None:
    """Pack the crawler of this installation into FILE. The same code makes the same bytes.

    \b
    Examples:
      ipmicra bundle build --version 1.1.0 crawler.zip
    """
    made = contents(program)
    data = pack(checked_version(version), program, made.files, made.packages)
    file.write_bytes(data)
    result = {"file": str(file), "version": version, "files": len(made.files), "bytes": len(data)}
    words = f"{file}: version {version}, {len(made.files)} files, {len(data):,} bytes"
    terminal.show(result, as_json, lambda: Text(words))

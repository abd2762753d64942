"""`ipmicra coordinator submit`: pages to crawl."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin.submission import submit
from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.errors import OperatorFault
from ipmicra.protocol.coordinator_api import Submitted


@click.command()
@click.argument("urls", nargs=-1, required=True)
@click.option(
    "--coordinator",
    metavar="URL",
    help="Submit to a running coordinator at this URL, with a token; by default to the database.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="IPMICRA_TOKEN_FILE",
    show_envvar=True,
    help="File with the token for --coordinator; ipmicra coordinator token create makes one.",
)
@database_option
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    urls: tuple[str, ...],
    coordinator: str | None,
    token_file: Path | None,
    database: str | None,
    as_json: bool,
) -> None:
    """Submit pages; the nearest crawler fetches each of them.

    \b
    Examples:
      ipmicra coordinator submit https://example.org/ https://example.net/docs/
      ipmicra coordinator submit https://example.org/ --coordinator https://crawl.example.net \\
        --token-file importer.token
    """
    if coordinator is not None:
        result = CoordinatorClient(coordinator, token=_token_in(token_file)).submit(*urls)
    else:
        with open_database(context, database) as rows, rows.database.begin() as connection:
            submitted, new = submit(connection, urls, time.time())
        result = Submitted(submitted=submitted, new=new)
    words = f"{result.submitted} submitted, {result.new} of them new"
    terminal.show(result, as_json, lambda: Text(words))


def _token_in(file: Path | None) -> str:
    if file is None:
        raise OperatorFault(
            "--coordinator needs --token-file FILE: a file with a token of that coordinator"
        )
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise OperatorFault(f"reading the token in {file}: {error}") from error

"""`ipmicra coordinator submit`: pages to crawl."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_rows import database_option, opened_rows
from ipmicra.coordinator import sites
from ipmicra.crawler.decisions.urls import Normaliser, Url
from ipmicra.errors import OperatorFault


@click.command()
@click.argument("urls", nargs=-1, required=True)
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, urls: tuple[str, ...], database: str | None, as_json: bool) -> None:
    """Give pages to be crawled, by whichever crawler is nearest to them.

    \b
    Examples:
      ipmicra coordinator submit https://example.org/ https://example.net/docs/
    """
    normaliser = Normaliser()
    wanted = [_normal(normaliser, url) for url in urls]
    with opened_rows(context, database) as rows, rows.database.begin() as connection:
        new = sites.found(connection, wanted, time.time())
    result = {"submitted": len(wanted), "new": new}
    terminal.show(result, as_json, lambda: Text(f"{len(wanted)} submitted, {new} of them new"))


def _normal(normaliser: Normaliser, text: str) -> Url:
    url = normaliser.url(text)
    if url is None:
        raise OperatorFault(f"{text!r} is no web page's address; write one such as https://example.org/")
    return url

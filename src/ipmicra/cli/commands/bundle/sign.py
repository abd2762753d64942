"""`ipmicra bundle sign`: a bundle into the repository, with our signature; and what else is signed there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.options.bundle_options import keys_option, repository_option
from ipmicra.coordinator.bundles.repository import Repository
from ipmicra.errors import OperatorFault


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False)
@keys_option
@repository_option
@click.option("--withdraw", metavar="VERSION", help="Withdraw this version.")
@click.option(
    "--rotate",
    type=click.Choice(["root", "targets", "snapshot", "timestamp"]),
    help="Replace the keys of this role by new ones; needs the root keys.",
)
@terminal.json_option
def command(
    file: Path | None,
    keys: Path,
    repository: Path,
    withdraw: str | None,
    rotate: str | None,
    as_json: bool,
) -> None:
    """Sign a bundle FILE into the repository. Without one: sign again what would expire.

    Signatures expire (a week for the shortest), so that an attacker cannot hold hosts at an old state:
    run `ipmicra bundle sign` without a file and `ipmicra bundle publish` daily, for example from cron.

    \b
    Examples:
      ipmicra bundle sign crawler.zip --keys ~/keys --repository ~/bundles
      ipmicra bundle sign --keys ~/keys --repository ~/bundles
      ipmicra bundle sign --withdraw 1.1.0 --keys ~/keys --repository ~/bundles
      ipmicra bundle sign --rotate targets --keys ~/keys --repository ~/bundles
    """
    if sum(wish is not None for wish in (file, withdraw, rotate)) > 1:
        raise OperatorFault("give one of FILE, --withdraw and --rotate")
    signed, now = Repository(repository), datetime.now(UTC)
    if file is not None:
        signed.sign(file.read_bytes(), keys, now)
    elif withdraw is not None:
        signed.withdraw(withdraw, keys, now)
    elif rotate is not None:
        signed.rotate(keys, rotate, now)  # type: ignore[arg-type]  # click has checked the role
    else:
        signed.refresh(keys, now)
    result = {"versions": signed.versions(), "believed_until": signed.expires()}
    versions = ", ".join(signed.versions()) or "nothing"
    words = f"signed: {versions}; believed until {signed.expires():%F %R} UTC"
    terminal.show(result, as_json, lambda: Text(words))

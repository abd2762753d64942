"""`ipmicra bundle init`: keys, and an empty repository that they sign."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.options.bundle_options import keys_option, repository_option
from ipmicra.coordinator.bundles.repository import Repository
from ipmicra.protocol.bundle_trust import fingerprint


@click.command()
@keys_option
@repository_option
@click.option("--root-keys", default=3, show_default=True, help="Number of root keys to create.")
@click.option("--threshold", default=2, show_default=True, help="Number of root keys that must sign.")
@terminal.json_option
def command(keys: Path, repository: Path, root_keys: int, threshold: int, as_json: bool) -> None:
    """Make signing keys and an empty repository of bundles.

    Root keys say which other keys count. Move each root-N.pem to a separate offline medium, and bring as
    many as the threshold together only to rotate keys. Give the fingerprint to the owners of hosts: they
    compare it when they join.

    \b
    Examples:
      ipmicra bundle init --keys ~/keys --repository ~/bundles
      ipmicra bundle init --keys ~/keys --repository ~/bundles --root-keys 5 --threshold 3
    """
    root = Repository(repository).init(keys, root_keys, threshold, datetime.now(UTC))
    result = {"repository": str(repository), "keys": str(keys), "fingerprint": fingerprint(root)}
    terminal.show(result, as_json, lambda: Text(f"fingerprint: {result['fingerprint']}"))
    if not as_json:
        terminal.print_note(
            f"now take the root keys in {keys} offline: root-1.pem to root-{root_keys}.pem"
        )

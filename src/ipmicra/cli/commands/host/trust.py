"""`ipmicra host trust`: accept code signed for a coordinator, or none."""

from __future__ import annotations

from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.options.host_options import folder_of, folder_option
from ipmicra.errors import OperatorFault
from ipmicra.host import folder as folders
from ipmicra.host.code.consent import accept, accepted_root, withdraw
from ipmicra.protocol.bundle_trust import fingerprint, first_root


@click.command()
@click.argument("expected", metavar="[FINGERPRINT]", required=False)
@click.option(
    "--nobody",
    is_flag=True,
    help="Run only the code that you installed yourself, from the next start on.",
)
@folder_option
@click.pass_context
def command(context: click.Context, expected: str | None, nobody: bool, folder: Path | None) -> None:
    """Accept crawlers' code that the holders of these keys have signed. It runs in a sandbox only.

    Get FINGERPRINT from the coordinator's operator by another way than through the coordinator itself.
    Without it: show the trusted keys. Run `ipmicra host check` before you trust keys.

    \b
    Examples:
      ipmicra host trust "a56d 02ec f819 f48b 8671 0e3e c6a3 ce89"
      ipmicra host trust                    show the trusted keys
      ipmicra host trust --nobody           run installed code only
    """
    host_folder = folder_of(terminal.settings_of(context), folder)
    if nobody and expected:
        raise OperatorFault("give a fingerprint or --nobody, not both")
    with folders.open_store(host_folder) as store:
        if nobody:
            withdraw(host_folder)
            store.log_event("the owner trusts only installed code")
        elif expected:
            accept(host_folder, first_root(folders.membership(store).coordinator), expected)
            store.log_event(f"the owner trusts code signed under {expected}")
    root = accepted_root(host_folder)
    words = (
        "nobody: only installed code runs" if root is None else f"code signed under {fingerprint(root)}"
    )
    terminal.output().print(f"trusted: {words}")
    if expected or nobody:
        terminal.print_note("this takes effect at the next start of the host")

"""`ipmicra host run`: a host that has joined, at work until it is stopped."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import click
import uvloop

from ipmicra.cli import terminal
from ipmicra.cli.main import INTERRUPTED
from ipmicra.cli.options.host_options import folder_of, folder_option
from ipmicra.crawler.crawl import tune_process
from ipmicra.errors import OperatorFault
from ipmicra.host import folder as folders
from ipmicra.host.code.consent import code_updater_for
from ipmicra.host.daemon import ExitReason, HostDaemon
from ipmicra.host.sandbox.mode import choose_run_mode
from ipmicra.host.settings import HostSettings

NICENESS = 10


@click.command()
@folder_option
@click.pass_context
def command(context: click.Context, folder: Path | None) -> int:
    """Run the host that has joined here, until Ctrl-C or SIGTERM.

    It works within the rules of the table [host], which it reads again when the settings file changes,
    and continues where it was when it is started again. The crawler runs in a sandbox if this machine can
    make one (`ipmicra host check`); host.sandbox says whether it must.

    \b
    Examples:
      ipmicra host run
      ipmicra --set 'host.hours="22:00-06:00"' --set host.time_zone=Europe/Athens host run
      systemctl enable --now ipmicra-host      # with deploy/ipmicra-host.service
    """
    settings, reload = terminal.settings_of(context), terminal.reload_of(context)
    host_folder = folder_of(settings, folder)
    with folders.open_store(host_folder) as store, folders.hold_lock(host_folder):
        retired = store.get("retired")
        if retired is not None and not store.unreported(1):
            raise OperatorFault(f"this host was retired: {retired}; remove it with: ipmicra host leave")
        _lower_priority(settings.host)
        tune_process()
        dice = Random(secrets.randbits(64))  # noqa: S311 - jitter, so that hosts do not call in step

        async def live() -> ExitReason:
            choice = await choose_run_mode(settings.host, store.log_event)
            updater = code_updater_for(host_folder, store, choice)
            code = choice.installed
            daemon = HostDaemon(
                host_folder,
                settings.hosting,
                store,
                dice,
                reload=lambda: reload().hosting,
                code=code,
                updater=updater,
            )
            _stop_on_signals(daemon.stop)
            return await daemon.run()

        return _exit_code(uvloop.run(live()))


def _lower_priority(host: HostSettings) -> None:
    """Run at low priority, and within the memory limit."""
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_DATA, (host.memory_bytes_max, host.memory_bytes_max))


def _stop_on_signals(stop: Callable[[], None]) -> None:
    stop_requested = False

    def interrupt() -> None:
        nonlocal stop_requested
        if stop_requested:
            os._exit(INTERRUPTED)
        stop_requested = True
        terminal.print_note("stopping; Ctrl-C again stops at once")
        stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt)


def _exit_code(ending: ExitReason) -> int:
    if ending is ExitReason.DISMISSED:
        raise OperatorFault("the coordinator has revoked this host; remove it with: ipmicra host leave")
    if ending is ExitReason.RETIRED:
        terminal.print_note("the coordinator has retired this host; remove it with: ipmicra host leave")
    return 0

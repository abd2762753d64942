"""A crawler's state -> a description, and a form for each command that is allowed now.

Invariant: only commands that `crawler_states` allows are offered; every form carries the visitor's token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import htpy as h

from ipmicra.coordinator.admin.commands import CAN_TAKE
from ipmicra.coordinator.admin.crawler_states import MEANINGS, CrawlerState, OperatorCommand
from ipmicra.coordinator.views.crawlers import CrawlerStatus
from ipmicra.web import formats
from ipmicra.web.session import Visitor

WARNINGS = {
    OperatorCommand.RETIRE: "It hands over its sites, delivers its packages, and stops.",
    OperatorCommand.REVOKE: "Its key becomes invalid at once, and its sites go to others.",
}
CHOICES = {OperatorCommand.UPGRADE: "version", OperatorCommand.MOVE: "target"}


def in_words(crawler: CrawlerStatus, now_s: float) -> str:
    since = "" if crawler.since_s is None else f", since {formats.ago(crawler.since_s, now_s)}"
    to = f" to {crawler.moves_to}" if crawler.moves_to else ""
    return f"{crawler.state}{to}{since}: {MEANINGS[crawler.state]}"


def targets_of(crawler: CrawlerStatus, everybody: Iterable[CrawlerStatus]) -> list[str]:
    """Where it could move to."""
    return [one.name for one in everybody if one.name != crawler.name and one.state in CAN_TAKE]


def panel_of(
    crawler: CrawlerStatus, targets: Sequence[str], versions: Sequence[str], visit: Visitor
) -> h.Node:
    """The forms, or None for a crawler that has ended."""
    offered = {
        OperatorCommand.UPGRADE: versions if crawler.takes_code else (),
        OperatorCommand.MOVE: targets,
    }
    forms = [_form(crawler.name, command, offered, visit) for command in crawler.commands]
    if crawler.state is CrawlerState.EXPECTED:
        forms.insert(0, _new_token(crawler.name, visit))
    return h.section(".panel")[h.h2["Administer"], h.div(".row")[forms]] if forms else None


def _form(
    name: str, command: OperatorCommand, offered: dict[OperatorCommand, Sequence[str]], visit: Visitor
) -> h.Node:
    if command in WARNINGS:
        button = _button(name, command, visit, "danger")
        return h.details[
            h.summary[f"{command.capitalize()} …"], h.p(".small")[WARNINGS[command]], button
        ]
    if command not in CHOICES:
        return _button(name, command, visit, "plain")
    if not offered[command]:
        return None
    options = [h.option(value=value)[value] for value in offered[command]]
    choice = h.label[f"{command.capitalize()} to", h.select(name=CHOICES[command])[options]]
    return h.details[
        h.summary[f"{command.capitalize()} …"], _button(name, command, visit, "plain", choice)
    ]


def _new_token(name: str, visit: Visitor) -> h.Element:
    return h.form(method="post", action=f"/admin/hosts/{name}/token")[
        visit.hidden(), h.button(".plain")["New join token"]
    ]


def _button(
    name: str, command: OperatorCommand, visit: Visitor, look: str, *fields: h.Node
) -> h.Element:
    return h.form(method="post", action=f"/admin/hosts/{name}/{command}")[
        visit.hidden(), fields, h.button(class_=look)[command.capitalize()]
    ]

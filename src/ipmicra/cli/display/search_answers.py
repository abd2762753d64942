"""A search's answer -> what a person reads on a terminal."""

from __future__ import annotations

import html
from datetime import UTC, datetime

from rich.console import Group
from rich.text import Text

from ipmicra.cli.terminal import strip_control
from ipmicra.model.search import Hit, SearchAnswer


def shown(answer: SearchAnswer) -> Group:
    """Results, best first, and what to know about them."""
    parts = [_hit(hit) for hit in answer.hits]
    closing = Text(f"{_counted(answer.total)}, {answer.took_ms:.1f} ms", style="dim")
    if answer.without:
        closing.append(f"; without: {strip_control(', '.join(answer.without))}")
    for remark in answer.remarks:
        closing.append(f"; {strip_control(remark)}")
    if answer.corrected:
        closing.append(f"\nShowing results for: {strip_control(answer.did_you_mean)}")
    elif answer.did_you_mean:
        closing.append(f"\nDid you mean: {strip_control(answer.did_you_mean)}")
    return Group(*parts, closing)


def _counted(total: int) -> str:
    if not total:
        return "No pages found. Try fewer words, or check the spelling"
    return "1 page matches" if total == 1 else f"{total:,} pages match"


def _hit(hit: Hit) -> Text:
    text = Text()
    text.append(strip_control(hit.title), style="bold")
    text.append(f"\n  {hit.url}\n", style="green")
    text.append("  ").append_text(_marked(hit.snippet)).append("\n")
    seen = datetime.fromtimestamp(hit.fetched_at_ms / 1000, tz=UTC)
    notes = [f"seen {seen:%Y-%m-%d %H:%M} UTC by {hit.crawler}"]
    if hit.alike:
        notes.append(f"{hit.alike} alike")
    if hit.more_from_site:
        notes.append(f"{hit.more_from_site} more from {hit.site} (--all-of-site)")
    if hit.missing:
        notes.append(f"does not have: {strip_control(', '.join(hit.missing))}")
    return text.append(f"  {', '.join(notes)}\n", style="dim")


def _marked(snippet: str) -> Text:
    first, *others = snippet.split("<mark>")
    text = Text(strip_control(html.unescape(first)))
    for piece in others:
        marked, _, rest = piece.partition("</mark>")
        text.append(strip_control(html.unescape(marked)), style="bold yellow")
        text.append(strip_control(html.unescape(rest)))
    return text

"""`ipmicra registry show`: an address or a name -> the path from the whole Internet down to it."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from ipmicra.addresses import IPAddress
from ipmicra.cli import terminal
from ipmicra.hierarchy.tree import Subnet, SubnetTree
from ipmicra.registry.folder import tree_file
from ipmicra.registry.names import addresses_of
from ipmicra.registry.treefile import open_tree


class SubnetStep(msgspec.Struct, frozen=True):
    """One subnet on the way down."""

    range: str
    handle: str
    organisation: str
    country: str
    registry: str
    status: str
    source: str
    asn: int


class SubnetPath(msgspec.Struct, frozen=True):
    """The way down to one address."""

    address: str
    steps: list[SubnetStep]


@click.command()
@click.argument("address_or_name")
@click.option("--tree", "tree", type=click.Path(path_type=Path, dir_okay=False), help="The tree's file.")
@terminal.json_option
@click.pass_context
def command(context: click.Context, address_or_name: str, tree: Path | None, as_json: bool) -> None:
    """Walk from the whole Internet down to the smallest subnet that holds an address.

    A name is looked up in the DNS, and each of its addresses is walked to.

    \b
    Examples:
      ipmicra registry show 198.51.100.9
      ipmicra registry show 2001:db8:100::1
      ipmicra registry show www.example.org --json
    """
    subnets = open_tree(tree or tree_file(terminal.settings_of(context).data_folder)).tree
    walks = [_walk(subnets, address) for address in addresses_of(address_or_name)]
    terminal.show(walks, as_json, lambda: _rendered(address_or_name, walks))


def _walk(tree: SubnetTree, address: IPAddress) -> SubnetPath:
    path = tree.path(tree.smallest(address))
    return SubnetPath(str(address), [_step(tree, subnet) for subnet in path])


def _step(tree: SubnetTree, subnet: Subnet) -> SubnetStep:
    organisation = tree.organisation_of(subnet)
    known = organisation >= 0
    return SubnetStep(
        range=str(tree.range_of(subnet)),
        handle=tree.organisation_handle(organisation) if known else "",
        organisation=tree.organisation_name(organisation) if known else "",
        country=tree.country_of(subnet),
        registry=tree.registry_of(subnet),
        status=tree.status_of(subnet),
        source=tree.source_of(subnet),
        asn=tree.asn_of(subnet),
    )


def _rendered(asked: str, walks: list[SubnetPath]) -> Tree:
    whole = Tree(f"[bold]{escape(asked)}[/]")
    for walk in walks:
        branch = whole if walk.address == asked else whole.add(walk.address)
        for step in walk.steps:
            branch = branch.add(_label(step))
    return whole


def _label(step: SubnetStep) -> Text:
    """A line that wraps instead of being cut, also where the output is piped."""
    label = Text.from_markup(_line(step), overflow="fold")
    label.no_wrap = False
    return label


def _line(step: SubnetStep) -> str:
    if step.range in ("0.0.0.0/0", "::/0") and not step.organisation:
        return f"[cyan]{step.range}[/]  the whole Internet"
    who = step.organisation or step.handle or "organisation unknown"
    handle = f" [dim]{escape(step.handle)}[/]" if step.handle and step.organisation else ""
    facts = [step.country or "country unknown", step.registry or "registry unknown", step.status]
    if step.asn:
        facts.append(f"AS{step.asn}")
    details = ", ".join(escape(fact) for fact in facts if fact)
    return f"[cyan]{step.range}[/]  [bold]{escape(who)}[/]{handle}  {details}"

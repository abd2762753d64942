"""A data folder, or none -> a world to try strategies in, and the path of its tree.

Without a data folder the world and its registries are generated from the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ipmicra.errors import OperatorFault
from ipmicra.hierarchy.build import build_tree
from ipmicra.lab.formats import load_world
from ipmicra.lab.generated import generate
from ipmicra.lab.registry_tree import kept_tree
from ipmicra.lab.world import World
from ipmicra.registry.treefile import write_tree


class DataSource(NamedTuple):
    """A world, the file of its tree (None: nothing is registered), and what to say about both."""

    world: World
    tree_file: Path | None
    remarks: tuple[str, ...]


def load_data_source(
    data: Path | None,
    registry: Path | None,
    cache: Path,
    seed: int,
    say: Callable[[str], object] = lambda words: None,
) -> DataSource:
    """The world of the data folder with the tree of the registry folder, or a generated one with its own.

    `say` receives a message before each long step.
    """
    if data is None:
        if registry is not None:
            raise OperatorFault("--registry without --data: a generated world has its own registries")
        return _made_up(cache, seed)
    world = load_world(data)
    if registry is None:
        silence = "no --registry: the tree says nothing of any address"
        return DataSource(world, None, (*world.remarks, silence))
    return DataSource(world, kept_tree(registry, cache, say), world.remarks)


def _made_up(cache: Path, seed: int) -> DataSource:
    generated = generate(seed)
    tree_file = cache / f"{generated.world.name}-{len(generated.world.places)}.tree"
    write_tree(tree_file, build_tree(generated.allocations).tree, about={"seed": seed})
    return DataSource(generated.world, tree_file, ("no --data: a made-up world, of the seed",))

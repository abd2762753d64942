"""What the documents say of strategies is so."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path
from typing import Any

import pytest

from ipmicra.delegation import decision, probe_session, strategy, subnets
from ipmicra.delegation.balancing import POLICIES
from ipmicra.delegation.decision import Why
from ipmicra.delegation.registry import STRATEGIES
from ipmicra.delegation.strategies import learning_strategy
from ipmicra.delegation.strategies.random_and_hash import NoSettings
from ipmicra.model import probes
from ipmicra.testing import check_strategy

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "strategies.md").read_text()


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_its_main_parameter_and_its_words_are_documented(name: str) -> None:
    entry = STRATEGIES[name]
    row = next(line for line in REFERENCE.splitlines() if line.startswith(f"| `{name}` |"))
    assert entry.main is None or f"`{entry.main}`" in row
    assert all(f"`{word}`" in REFERENCE for word in entry.words)


@pytest.mark.parametrize("name", ["first-fit", "ipmicra"])
def test_every_parameter_is_documented_with_its_default(name: str) -> None:
    said = REFERENCE.partition(f"`{name}`: ")[2].partition("\n\n")[0]
    settings = STRATEGIES[name].settings
    for field in settings.__struct_fields__:
        default = getattr(settings(), field)
        assert f"`{field}` (" in said
        assert (f"({default:g})" if isinstance(default, float) else f"{default}") in said


def test_the_example_of_how_to_add_a_strategy_keeps_the_contract() -> None:
    text = (DOCS / "how-to" / "add-a-strategy.md").read_text()
    code = textwrap.dedent(text.partition("```python\n")[2].partition("```")[0])
    names: dict[str, Any] = {"TwiceSettings": NoSettings}
    for module in (learning_strategy, probe_session, strategy, subnets, decision, probes):
        names |= vars(module)
    names["random"] = random
    exec(code, names)
    check_strategy(lambda tree, rng: names["Twice"](tree, rng, NoSettings()))


def test_every_reason_is_documented() -> None:
    assert all(f"`{why}`" in REFERENCE for why in Why)


def test_every_balancing_policy_is_documented() -> None:
    text = (DOCS / "explanation" / "balancing.md").read_text()
    assert all(f"| `{name}` |" in text for name in POLICIES)

"""Nothing -> a small generated world in the registries' real formats, for demonstrations and tests.

The files lie beside this one in `sample/`. Addresses are those set aside for documentation and tests, the
organisations are fictional. One address has the whole story: 198.51.100.9 is one server's (a unary
subnet) in a web farm's range of a company's network of a provider's block.
"""

from __future__ import annotations

from pathlib import Path

SAMPLE_ADDRESS = "198.51.100.9"


def sample_folder() -> Path:
    """Where the sample's registry files lie."""
    return Path(__file__).with_name("sample")

"""The readers of markup: tests that ask for `reader` are played with each of them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from functools import partial

import pytest

from ipmicra.crawler.extraction.markup import READERS, read


@pytest.fixture(scope="module", params=["compiled", "tree"])
def reader(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of the one that `extract` reads with. A missing one is a skip, or under CI a failure."""
    name = str(request.param)
    if name not in READERS:
        reason = (
            f"the {name} reader is missing: tools/build-reader makes it where there is a Rust compiler"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    module = importlib.import_module("ipmicra.crawler.extraction.extract")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "read", partial(read, reader=READERS[name]))
        yield name

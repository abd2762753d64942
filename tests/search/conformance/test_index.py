"""Every index keeps the promises of `ipmicra.testing`, whichever engine is behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ipmicra.search.contract import SearchIndex
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing import DURABLE_INDEX, INDEX
from ipmicra.testing.index_contract import new_folder, new_index
from ipmicra.testing.index_contract.limits import ALPHABET, ask_anything
from tests.search.second_engine.fts5_index import Fts5Index

ENGINES: dict[str, Callable[[Path], SearchIndex]] = {
    "tantivy": lambda folder: TantivyIndex(folder, writable=True),
    "fts5": Fts5Index,
}
every_engine = pytest.mark.parametrize("engine", ENGINES)


@every_engine
@pytest.mark.parametrize("promise", INDEX.promises)
def test_every_index_keeps_its_promises(engine: str, promise: str) -> None:
    INDEX.check_promise(promise, lambda: new_index(ENGINES[engine]))


@every_engine
@pytest.mark.parametrize("promise", DURABLE_INDEX.promises)
def test_every_index_in_a_folder_keeps_its_promises(engine: str, promise: str) -> None:
    DURABLE_INDEX.check_promise(promise, lambda: new_folder(ENGINES[engine]))


@pytest.fixture(params=ENGINES)
def index(request: pytest.FixtureRequest) -> Iterator[SearchIndex]:
    with new_index(ENGINES[request.param]) as opened:
        yield opened


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=ALPHABET, max_size=200) | st.text(max_size=60))
def test_any_text_is_a_question(index: SearchIndex, text: str) -> None:
    ask_anything(index, text)
    assert index.page_count() == 1

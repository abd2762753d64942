"""The public door: every listed name is there, loaded when used, and the how-to's examples run as typed."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

import ipmicra
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.hierarchy import Allocations, build_tree
from ipmicra.registry.treefile import write_tree
from ipmicra.search.factory import INDEX_FOLDER, open_index
from ipmicra.testing.page_records import package, seen
from tests.coordinator.coordinator_process import RunningCoordinator, running_coordinator
from tests.crawler.local_site import LocalSite, html

HOW_TO = Path(__file__).parents[1] / "docs/how-to/use-as-a-library.md"


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}; import sys; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_every_listed_name_is_offered() -> None:
    for name in ipmicra.__all__:
        assert getattr(ipmicra, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = ipmicra.no_such_name


def test_importing_the_package_loads_nothing_else() -> None:
    assert {name for name in loaded_by("import ipmicra") if name.startswith("ipmicra")} == {"ipmicra"}


def test_the_client_needs_the_standard_library_and_msgspec_only() -> None:
    before = loaded_by("pass")
    loaded = {
        name.partition(".")[0] for name in loaded_by("from ipmicra import CoordinatorClient") - before
    }
    assert loaded - set(sys.stdlib_module_names) <= {"ipmicra", "msgspec", "typing_extensions"}


def test_every_listed_name_is_documented_and_typed() -> None:
    told = HOW_TO.read_text(encoding="utf-8")
    assert [name for name in ipmicra.__all__ if f"`{name}`" not in told] == []
    for name in set(ipmicra.__all__) - {"__version__"}:
        offered = getattr(ipmicra, name)
        assert offered.__doc__, name
        if inspect.isfunction(offered):
            assert set(inspect.signature(offered).parameters) | {"return"} == set(
                offered.__annotations__
            )


def test_every_method_of_the_client_is_typed_and_documented() -> None:
    methods = inspect.getmembers(ipmicra.CoordinatorClient, inspect.isfunction)
    public = {name: method for name, method in methods if not name.startswith("_")}
    assert set(public) == {"nearest", "explain", "status", "errors", "search", "submit"}
    for name, method in public.items():
        assert f"`{name}`" in HOW_TO.read_text(encoding="utf-8")
        assert method.__doc__
        assert "return" in method.__annotations__


def examples() -> list[str]:
    text = HOW_TO.read_text(encoding="utf-8")
    return [part.partition("```")[0] for part in text.split("```python\n")[1:]]


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """A small site, served from a thread of its own."""
    pages = {"/": html("/bread", title="Bakery"), "/bread": html(title="Bread", text="fresh bread")}
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()
    addresses: list[str] = []

    async def serve() -> None:
        async with LocalSite(pages).serving() as local:
            addresses.append(f"{local.address}/")
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert started.wait(10)
    yield addresses[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


@pytest.fixture(scope="module")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCoordinator]:
    folder = tmp_path_factory.mktemp("coordinator")
    settings = {"fetching.dns_servers": '["127.0.0.1:9"]'}
    with running_coordinator(folder, f"sqlite:///{folder}/rows.sqlite", settings) as running:
        yield running


@pytest.fixture(scope="module")
def names(
    site: str, coordinator: RunningCoordinator, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, object]:
    """What the examples leave to the reader."""
    folder = tmp_path_factory.mktemp("library")
    with closing(open_index(folder / INDEX_FOLDER, writable=True)) as index:
        index.integrate(*package([seen("https://bread.example/", "Bread", "fresh bread")]))
        index.commit()
    write_tree(folder / "tree", build_tree(Allocations()).tree, {})
    return {
        "SITE": site,
        "FETCHING": FetchingSettings(open_ranges=("127.0.0.0/8",)),
        "FOLDER": folder,
        "TREE": folder / "tree",
        "COORDINATOR": coordinator.address,
        "TOKEN": msgspec.json.decode(coordinator.rows("token", "create", "example", "--json"))["token"],
    }


PRINTED = (
    "Bread",
    "https://bread.example/",
    "0.0.0.0",
    "",
    "https://example.org not known yet",
    "1 new page",
)


@pytest.mark.parametrize("number", range(len(PRINTED)))
def test_an_example_runs_as_typed(
    number: int, names: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(examples()) == len(PRINTED)
    lines = [line for line in examples()[number].splitlines() if line.strip()]
    assert len(lines) <= 10
    exec(compile(examples()[number], str(HOW_TO), "exec"), dict(names))
    assert PRINTED[number] in capsys.readouterr().out

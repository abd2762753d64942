"""What `make dist` makes, and what a plain install can do: a host and a crawler, without the extras."""

from __future__ import annotations

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipmicra import __version__
from ipmicra.cli.extras import OF_LIBRARY

REPOSITORY = Path(__file__).parents[2]
WITHOUT_EXTRAS = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(OF_LIBRARY)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from ipmicra.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def plain(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command as it is where no extra is installed."""
    settings = ["--set", f"general.data_folder={folder}", "--set", "crawler.delay_seconds_min=0.01"]
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *settings, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "index.html").write_text("<title>Otters</title><p>otters swim")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_plain_install_crawls_and_exports(tmp_path: Path, site: str) -> None:
    data = tmp_path / "data"
    crawl = plain(data, "crawl", site, "--allow-range", "127.0.0.0/8", "--json")
    assert crawl.returncode == 0, crawl.stderr
    assert json.loads(crawl.stdout)["progress"]["seen"] == 1
    export = plain(data, "export")
    assert export.returncode == 0, export.stderr
    assert "otters swim" in export.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["search", "otter"], "search"),
        (["coordinator", "status"], "coordinator"),
        (["registry", "stats"], "coordinator"),
        (["demo", "--no-wait"], "lab"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_adds_it(
    words: list[str], extra: str, tmp_path: Path
) -> None:
    told = plain(tmp_path, *words)
    assert told.returncode == 5
    assert f"pip install 'ipmicra[{extra}]'" in told.stderr
    assert "Traceback" not in told.stderr


def test_the_help_of_groups_and_hosts_commands_needs_no_extra(tmp_path: Path) -> None:
    program = WITHOUT_EXTRAS.replace(
        "sys.exit(run(sys.argv[1:]))",
        "for line in ('--help', 'coordinator --help', 'host run --help', 'host join --help', 'host leave -h',"
        " 'host log --help', 'host status', 'settings --json'):\n"
        "    assert run(line.split()) in (0, 3), line",
    )
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment
    )
    assert told.returncode == 0, told.stderr
    assert "Run the coordinator until" in told.stdout


def test_help_imports_no_command(tmp_path: Path) -> None:
    program = (
        "import sys; from ipmicra.cli.main import run; run(['--help']); run(['coordinator', '--help']);"
        "heavy = {'rich', 'numpy', 'litestar', 'asyncio', 'sqlalchemy'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


def test_every_extra_is_part_of_all() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert {"search", "coordinator", "lab", "pdf", "s3", "export"} <= set(extras)
    plain_names = {name.partition(">")[0].partition("[")[0].lower() for name in project["dependencies"]}
    assert not plain_names & {"numpy", "scipy", "litestar", "tantivy", "sqlalchemy", "psycopg"}


def test_the_wheel_holds_the_program_and_fits_everywhere(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(line, cwd=REPOSITORY, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"ipmicra-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"ipmicra/__main__.py", "ipmicra/web/countries.json"} <= names
    assert any(name.startswith("ipmicra/theme/") and name.endswith(".css") for name in names)
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_a_wheel_with_a_reader_says_where_it_fits(tmp_path: Path) -> None:
    reader = tmp_path / "ipmicra_markup-1.0.0-cp311-abi3-manylinux_2_34_x86_64.whl"
    with zipfile.ZipFile(reader, "w") as archive:
        archive.writestr("ipmicra_markup/__init__.py", "")
        archive.writestr("ipmicra_markup/ipmicra_markup.abi3.so", b"\\x7fELF")
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")]
    environment = {**os.environ, "IPMICRA_READER": str(reader)}
    subprocess.run(line, cwd=REPOSITORY, check=True, capture_output=True, env=environment)
    (wheel,) = (tmp_path / "out").glob("*.whl")
    assert wheel.name.endswith("-cp311-abi3-manylinux_2_34_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "ipmicra_markup/ipmicra_markup.abi3.so" in archive.namelist()

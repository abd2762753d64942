"""Wrong folders, damaged files, taken ports, silent servers, mistyped words: a table of what people do.

Each row ends with a message that says what to do and an exit code that is not success; none with a
traceback, a hang, or a new coordinator that no one wanted.
"""

from __future__ import annotations

import io
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ipmicra.carrier.spool import Spool
from ipmicra.cli.main import DECLINED, run
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.errors import SiteFault
from ipmicra.registry.download.connectivity import check_names
from ipmicra.registry.download.sources import RemoteFile
from ipmicra.testing.page_records import seen

USAGE, OPERATOR, SITE, HOST = 2, 3, 4, 5
NOWHERE = "http://127.0.0.1:9"  # the discard port: no one listens there

Captured = pytest.CaptureFixture[str]
Scenery = Callable[[Path], Path]


def crawled(folder: Path) -> Path:
    spool = Spool(folder / "spool" / "c", "c")
    spool.append([seen("http://a.example/", "Otters", "otters swim")], 0.0)
    spool.seal()
    spool.close()
    return folder


def indexed(folder: Path) -> Path:
    assert run([*data(crawled(folder)), "search", "otter", "--json"]) == 0
    return folder


def data(folder: Path) -> list[str]:
    return ["--set", f"general.data_folder={folder}"]


# --- folders ----------------------------------------------------------------------------------------


def a_file(folder: Path) -> Path:
    path = folder / "file"
    path.write_text("not a folder")
    return path


def cannot_be_made(_: Path) -> Path:
    return Path("/proc/no-such-folder")


def nothing_there(folder: Path) -> Path:
    return folder / "nothing"


NEEDS_A_COORDINATOR = [
    ["coordinator", "status"],
    ["coordinator", "hosts"],
    ["coordinator", "crawlers"],
    ["coordinator", "register", "lima"],
    ["coordinator", "admin-link"],
    ["coordinator", "submit", "http://a.example/"],
    ["coordinator", "pause", "lima"],
    ["coordinator", "purge", "lima", "--yes"],
    ["coordinator", "work"],
]
NEEDS_A_FOLDER = [
    ["search", "otter"],
    ["export"],
    ["host", "status"],
    ["host", "log"],
    ["host", "run"],
    ["registry", "stats"],
    *NEEDS_A_COORDINATOR,
]
MAKES_A_FOLDER = [
    ["crawl", f"{NOWHERE}/", "--allow-range", "127.0.0.0/8"],
    ["search", "--serve", "--port", "18080"],
    ["coordinator", "init"],
    ["coordinator", "run", "--listen", "127.0.0.1:18790"],
    ["registry", "build", "--sample"],
    ["host", "join", NOWHERE, "token", "--yes"],
]


@pytest.mark.parametrize("words", NEEDS_A_FOLDER, ids=" ".join)
@pytest.mark.parametrize("where", [a_file, cannot_be_made, nothing_there])
def test_a_folder_that_holds_nothing_is_said_and_not_made(
    where: Scenery, words: list[str], tmp_path: Path, capsys: Captured
) -> None:
    folder = where(tmp_path)
    assert run([*data(folder), *words]) in (OPERATOR, HOST)
    assert capsys.readouterr().err.startswith("ipmicra: ")
    assert not folder.is_dir(), "a command that only reads has made the folder"


@pytest.mark.parametrize("words", MAKES_A_FOLDER, ids=" ".join)
@pytest.mark.parametrize("where", [a_file, cannot_be_made])
def test_a_folder_that_cannot_be_made_is_said(
    where: Scenery, words: list[str], tmp_path: Path, capsys: Captured
) -> None:
    assert run([*data(where(tmp_path)), *words]) in (OPERATOR, SITE, HOST)
    assert "ipmicra: " in capsys.readouterr().err


@pytest.mark.parametrize("words", NEEDS_A_COORDINATOR, ids=" ".join)
def test_no_command_but_run_and_init_makes_a_coordinator(
    words: list[str], tmp_path: Path, capsys: Captured
) -> None:
    assert run([*data(tmp_path), *words]) == OPERATOR
    assert "ipmicra coordinator init" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_is_no_coordinator_either(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "other.sqlite"
    sqlite3.connect(file).close()
    file.touch()
    assert run([*data(tmp_path), "coordinator", "status", "--database", f"sqlite:///{file}"]) == OPERATOR
    assert "no coordinator exists in" in capsys.readouterr().err


def test_init_makes_one(tmp_path: Path, capsys: Captured) -> None:
    assert run([*data(tmp_path / "new"), "coordinator", "init"]) == 0
    assert run([*data(tmp_path / "new"), "coordinator", "register", "lima", "--json"]) == 0
    assert '"token"' in capsys.readouterr().out


# --- damage -----------------------------------------------------------------------------------------


def damaged_engine(folder: Path) -> Path:
    (indexed(folder) / "index/engine-2/meta.json").write_text("{ no json")
    return folder


def damaged_catalogue(folder: Path) -> Path:
    (indexed(folder) / "index/ledger.sqlite").write_bytes(b"no database at all " * 100)
    return folder


def catalogue_of_another_version(folder: Path) -> Path:
    indexed(folder)
    with sqlite3.connect(folder / "index/ledger.sqlite") as catalogue:
        catalogue.execute("PRAGMA user_version = 99")
    return folder


@pytest.mark.parametrize("scenery", [damaged_engine, damaged_catalogue, catalogue_of_another_version])
def test_a_damaged_index_is_set_aside_and_made_anew_and_that_is_said(
    scenery: Scenery, tmp_path: Path, capsys: Captured
) -> None:
    scenery(tmp_path)
    capsys.readouterr()
    assert run([*data(tmp_path), "search", "otter"]) == 0
    said = capsys.readouterr()
    assert "http://a.example/" in said.out
    assert "It is made anew from the packages" in said.err
    assert list(tmp_path.glob("index.damaged-*"))


@pytest.mark.parametrize(
    "words",
    [["coordinator", "status"], ["coordinator", "run", "--listen", "127.0.0.1:18791"]],
    ids=" ".join,
)
def test_a_damaged_database_says_what_to_do(words: list[str], tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "coordinator.sqlite").write_bytes(b"no database at all " * 100)
    assert run([*data(tmp_path), *words]) == HOST
    assert "restore it from a backup" in capsys.readouterr().err


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path, capsys: Captured) -> None:
    Database(f"sqlite:///{tmp_path / 'coordinator.sqlite'}").close()
    with sqlite3.connect(tmp_path / "coordinator.sqlite") as rows:
        rows.execute("UPDATE schema_version SET version = version + 1")
    assert run([*data(tmp_path), "coordinator", "status"]) == OPERATOR
    assert "run the newer version" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["search", "otter"], ["export"]], ids=" ".join)
def test_a_cut_package_is_no_success(words: list[str], tmp_path: Path, capsys: Captured) -> None:
    (package,) = (crawled(tmp_path) / "spool/c").glob("*.package")
    package.write_bytes(package.read_bytes()[:-40])
    assert run([*data(tmp_path), *words]) == HOST
    assert "damaged" in capsys.readouterr().err


# --- ports and servers --------------------------------------------------------------------------------


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def test_a_port_in_use_is_said_before_anything_is_promised(
    taken_port: int, tmp_path: Path, capsys: Captured
) -> None:
    assert run([*data(crawled(tmp_path)), "search", "--serve", "--port", str(taken_port)]) == HOST
    assert run([*data(tmp_path), "coordinator", "run", "--listen", f"127.0.0.1:{taken_port}"]) == HOST
    told = capsys.readouterr().err
    assert told.count("another program uses this port") == 2
    assert "until Ctrl-C" not in told


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["search", "--serve", "--port", "80000"], USAGE),
        (["search", "--serve", "--port", "0"], USAGE),
        (["coordinator", "run", "--listen", "127.0.0.1:80000"], OPERATOR),
        (["coordinator", "run", "--listen", "8790"], OPERATOR),
        (["coordinator", "run", "--listen", "192.0.2.1:18793"], HOST),
        (["coordinator", "run", "--listen", "no such name:18794"], OPERATOR),
    ],
)
def test_a_port_or_address_that_cannot_be_is_refused(
    words: list[str], code: int, tmp_path: Path, capsys: Captured
) -> None:
    assert run([*data(tmp_path), *words]) == code
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["nearest", "http://a.example/", "--coordinator", NOWHERE],
        ["explain", "http://a.example/", "--coordinator", NOWHERE],
        ["host", "join", NOWHERE, "token", "--yes"],
    ],
    ids=" ".join,
)
def test_a_coordinator_that_does_not_answer_is_named_plainly(
    words: list[str], tmp_path: Path, capsys: Captured
) -> None:
    assert run([*data(tmp_path), *words]) == SITE
    told = capsys.readouterr().err
    assert NOWHERE in told
    assert "address" in told
    assert "urlopen" not in told


def test_without_a_network_the_registries_answer_within_seconds() -> None:
    def never(_: str) -> None:
        time.sleep(60)

    start = time.monotonic()
    with pytest.raises(SiteFault, match="is this machine connected"):
        check_names([RemoteFile("ripencc", "f", "https://ftp.ripe.example/f")], 0.1, never)
    assert time.monotonic() - start < 5


# --- words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["serch"], "'search'"),
        (["coordinator", "statsu"], "'status'"),
        (["--set", "crawler.delay=3", "settings"], "delay_seconds_min"),
        (["--set", "crawlr.contact=3", "settings"], "crawler"),
        (["--set", "coordinator.lease_second=3", "settings"], "lease_seconds"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_right_one(
    words: list[str], meant: str, capsys: Captured
) -> None:
    assert run(words) in (USAGE, OPERATOR)
    told = capsys.readouterr().err.lower()
    assert "did you mean" in told
    assert meant in told


@pytest.mark.parametrize(
    "words",
    [["crawl", "http://*.a.example/"], ["coordinator", "submit", "http://*.a.example:8480/"]],
    ids=" ".join,
)
def test_a_wildcard_is_no_site(words: list[str], tmp_path: Path, capsys: Captured) -> None:
    assert run([*data(tmp_path), "coordinator", "init"]) == 0
    assert run([*data(tmp_path), *words]) == OPERATOR
    assert "wildcard" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["coordinator", "purge", "lima"], ["host", "join", NOWHERE, "token"]],
    ids=" ".join,
)
def test_an_answered_no_says_that_nothing_was_done(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    assert run([*data(tmp_path), "coordinator", "init"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run([*data(tmp_path), *words]) == DECLINED
    told = capsys.readouterr().err
    assert "nothing was" in told
    assert "interrupted" not in told


def test_a_failed_crawl_fails_again(tmp_path: Path, capsys: Captured) -> None:
    line = [*data(tmp_path), "crawl", "http://127.0.0.1:9/", "--allow-range", "127.0.0.0/8"]
    assert run([*line, "--pages", "5"]) == SITE
    assert run([*line, "--pages", "1"]) == SITE
    assert "no page answered" in capsys.readouterr().err

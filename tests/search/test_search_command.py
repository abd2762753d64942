"""`ipmicra search`: answers from the packages in the data folder, also while another process writes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ipmicra.carrier.spool import Spool
from ipmicra.cli.main import run
from ipmicra.model.search import SearchAnswer
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import seen


def test_it_answers_from_packages_also_while_another_process_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = Spool(tmp_path / "spool" / "c", "c")
    spool.append([seen("http://a.example/", "Otters", "otters swim")], 0.0)
    spool.seal()
    spool.close()
    asked = ["--set", f"general.data_folder={tmp_path}", "search", "otter", "--json"]
    assert run(asked) == 0
    first = msgspec.json.decode(capsys.readouterr().out, type=SearchAnswer)
    writing = TantivyIndex(tmp_path / "index", writable=True)
    assert run(asked) == 0
    second = msgspec.json.decode(capsys.readouterr().out, type=SearchAnswer)
    writing.close()
    assert [hit.title for hit in first.hits] == [hit.title for hit in second.hits] == ["Otters"]


def test_what_a_page_writes_is_no_command_for_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = Spool(tmp_path / "spool" / "c", "c")
    spool.append([seen("http://a.example/", "Otters \x1b]0;taken\x07", "otters \x9b31m swim")], 0.0)
    spool.seal()
    spool.close()
    assert run(["--set", f"general.data_folder={tmp_path}", "search", "otter"]) == 0
    shown = capsys.readouterr().out
    assert "Otters" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)


def test_a_damaged_index_is_made_anew_from_the_packages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Spool(tmp_path / "spool" / "c", "c")) as spool:
        spool.append([seen("http://a.example/", "Otters", "otters swim")], 0.0)
        spool.seal()
    asked = ["--set", f"general.data_folder={tmp_path}", "search", "otter", "--json"]
    assert run(asked) == 0
    capsys.readouterr()
    (tmp_path / "index" / "engine-2" / "meta.json").write_text("{ no json")
    assert run(asked) == 0
    told = capsys.readouterr()
    assert msgspec.json.decode(told.out, type=SearchAnswer).total == 1
    assert "made anew" in told.err

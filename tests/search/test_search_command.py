"""`ipmicra search`: answers from the packages in the data folder, also while another process writes."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ipmicra.carrier.spool import Spool
from ipmicra.cli.main import run
from ipmicra.model.search import SearchAnswer
from ipmicra.search.tantivy.index import TantivyIndex
from tests.search.worlds import seen


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

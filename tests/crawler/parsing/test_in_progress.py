"""The name of the page in work outlives the process that works on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from ipmicra.crawler.parsing.in_progress import InProgress
from ipmicra.model.urls import Url

PAGE = Url("http://a.example/é")


def test_a_killed_process_leaves_the_name_of_its_page(tmp_path: Path) -> None:
    program = (
        "import os, signal; from pathlib import Path\n"
        "from ipmicra.crawler.parsing.in_progress import InProgress\n"
        f"with InProgress(Path({str(tmp_path / 'x')!r})).of({PAGE!r}):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False)
    assert ended.returncode == -signal.SIGKILL
    for _ in range(2):  # it stays until somebody has dealt with it
        found = InProgress(tmp_path / "x")
        assert found.found == PAGE
        found.close()
    found = InProgress(tmp_path / "x")
    found.forget()
    assert InProgress(tmp_path / "x").found is None


def test_a_page_that_is_done_leaves_nothing(tmp_path: Path) -> None:
    work = InProgress(tmp_path / "x")
    with work.of(Url("http://a.example/" + "long" * 1_000)):
        pass
    with work.of(PAGE):
        pass
    assert InProgress(tmp_path / "x").found is None


def test_a_file_that_is_damaged_names_nothing(tmp_path: Path) -> None:
    for data in (b"", b"\x01", b"\xff\xff\xff\xffabc", os.urandom(3)):
        (tmp_path / "x").write_bytes(data)
        assert InProgress(tmp_path / "x").found is None

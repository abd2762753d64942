"""A real process that integrates packages, or makes an index anew, recorded; and what a cut leaves."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ipmicra.carrier.spool import Spool
from ipmicra.model.search import SearchRequest
from ipmicra.search import rebuild
from ipmicra.search.recovery import open_or_set_aside
from ipmicra.search.spool_ingest import integrate_all, waiting_packages
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import seen
from tests.power_cut.crash_states import CrashState
from tests.power_cut.recorder import Recorder, Recording

PACKAGES = 10  # segments are merged when there are eight
_INTEGRATES = """
import sys
from pathlib import Path
from ipmicra.search.spool_ingest import integrate_file, waiting_packages
from ipmicra.search.tantivy.index import TantivyIndex

data_folder = Path(sys.argv[1])
index = TantivyIndex(data_folder / "index", writable=True)
for package in waiting_packages(data_folder):
    integrate_file(index, package)
    index.commit()
    print(package.sequence, flush=True)
    sys.stdin.readline()
index.close()
"""
_REBUILDS = """
import sys
from contextlib import closing
from pathlib import Path
from ipmicra.search import rebuild
from ipmicra.search.recovery import open_or_set_aside
from ipmicra.search.spool_ingest import integrate_all, waiting_packages
from ipmicra.search.spool_ingest import integrate_all, waiting_packages
from ipmicra.search.tantivy.index import TantivyIndex

data_folder = Path(sys.argv[1])
place = data_folder / "index"
for count in (2, 3):
    with rebuild.building(place) as folder:
        with closing(TantivyIndex(folder, writable=True)) as index:
            integrate_all(index, waiting_packages(data_folder)[:count], data_folder)
        with rebuild.writing(place):
            rebuild.swap_in(place)
    print(count, flush=True)
    sys.stdin.readline()
"""


def record_integration(folder: Path) -> Recording:
    return _record(folder, _INTEGRATES, PACKAGES)


def record_rebuilding(folder: Path) -> Recording:
    return _record(folder, _REBUILDS, 3)


def _record(folder: Path, program: str, packages: int) -> Recording:
    data = folder / "data"
    with closing(Spool(data / "spool" / "lima", "lima")) as spool:
        for number in range(1, packages + 1):
            spool.append([seen(url(number), "Loaf", f"<p>rye bread {number}</p>")], 0.0)
            spool.seal()
    recorder = Recorder(data, folder / "traces")
    recorder.run_in_steps(program, str(data))
    recording = recorder.recording()
    recording.check_complete()
    return recording


def url(number: int) -> str:
    return f"https://bread.example/{number}"


# --- after the cut ------------------------------------------------------------------------------------


def check_integration(state: CrashState, data: Path) -> None:
    """What was committed is found after opening the index; all is found once after the next search."""
    committed = max((int(mark.what) for mark in state.marks), default=0)
    damage = open_or_set_aside(data / "index")
    with closing(TantivyIndex(data / "index", writable=True)) as index:
        if damage is None:
            assert {url(number) for number in range(1, committed + 1)} <= set(found_in(data / "index"))
        integrate_all(index, waiting_packages(data), data)
    assert sorted(found_in(data / "index")) == sorted(url(number) for number in range(1, PACKAGES + 1))


def check_rebuilding(state: CrashState, data: Path) -> None:
    """The old index or the new one is there, and whole."""
    swapped = max((int(mark.what) for mark in state.marks), default=0)
    rebuild.finish_swap(data / "index")
    if not swapped and not (data / "index").exists():
        return
    assert open_or_set_aside(data / "index") is None
    with closing(TantivyIndex(data / "index", writable=True)):
        pass
    assert len(found_in(data / "index")) in {2, 3}
    assert len(found_in(data / "index")) >= swapped


def found_in(index_folder: Path) -> list[str]:
    with closing(TantivyIndex(index_folder, fills=False)) as index:
        answer = index.search(SearchRequest(text="rye", limit=100, per_site=0))
        assert index.page_count() == answer.total
        return [hit.url for hit in answer.hits]

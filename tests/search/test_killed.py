"""Death while integrating: started again, the index holds every page once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from ipmicra.carrier.spool import Spool
from ipmicra.model.search import SearchRequest
from ipmicra.search.spool_ingest import integrate_all, waiting_packages
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import seen

_VICTIM = """
import sys
from pathlib import Path
from ipmicra.search.spool_ingest import integrate_file, waiting_packages
from ipmicra.search.tantivy.index import TantivyIndex

data_folder = Path(sys.argv[1])
index = TantivyIndex(data_folder / "index", writable=True)
print("opened", flush=True)
for package in waiting_packages(data_folder):
    integrate_file(index, package)
    print("integrated", flush=True)
    index.commit()
    print("committed", flush=True)
"""


def test_death_at_any_step_indexes_nothing_twice_and_loses_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool" / "c", "c")
    for batch in range(4):
        spool.append(
            [seen(f"http://s{batch}-{n}.example/", "otter", f"otter {batch} {n}") for n in range(5)], 0.0
        )
        spool.seal()
    spool.close()
    for lines in (2, 3, 4):
        victim = subprocess.Popen([sys.executable, "-c", _VICTIM, str(tmp_path)], stdout=subprocess.PIPE)
        assert victim.stdout is not None
        for _ in range(lines):
            victim.stdout.readline()
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    index = TantivyIndex(tmp_path / "index", writable=True)
    integrate_all(index, waiting_packages(tmp_path), tmp_path)
    answer = index.search(SearchRequest(text="otter", limit=100, per_site=0))
    assert (answer.total, index.page_count()) == (20, 20)
    assert len({hit.url for hit in answer.hits}) == 20
    index.close()


def test_a_refused_package_is_kept_aside_with_its_reason_and_stops_nobody(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool" / "c", "c")
    for batch in range(2):
        spool.append([seen(f"http://s{batch}.example/", "otter", f"otter {batch}")], 0.0)
        spool.seal()
    damaged, _ = spool.waiting()
    spool.close()
    damaged.path.write_bytes(damaged.path.read_bytes()[:-3])
    index = TantivyIndex(tmp_path / "index", writable=True)
    intake = integrate_all(index, waiting_packages(tmp_path), tmp_path)
    assert len(intake.refused) == 1
    assert index.page_count() == 1
    index.close()
    assert (tmp_path / "refused" / damaged.path.name).exists()
    assert "promises" in (tmp_path / "refused" / f"{damaged.path.name}.reason").read_text()
    assert len(waiting_packages(tmp_path)) == 1

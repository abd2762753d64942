"""A server that behaves so and so -> the file is here whole, or the old one is untouched."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipmicra.cli.main import run
from ipmicra.errors import HostFault
from ipmicra.registry.download import downloads, sources
from ipmicra.registry.download.downloads import DownloadOutcome, RetryPolicy, fetch
from ipmicra.registry.download.sources import PUBLIC_FILES, REGISTRIES, RemoteFile, files_to_fetch
from ipmicra.registry.settings import RegistrySettings
from tests.registry import registry_server as server
from tests.registry.registry_server import CONTENTS, Behaviour, RegistryServer, serving

PATH = "/split/file.gz"
Script = dict[str, list[Behaviour]]


class ServedRequest:
    """One machine that fetches one file, perhaps again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pauses_s: list[float] = []
        self.progress: list[tuple[int, int]] = []

    @property
    def file(self) -> Path:
        return self.folder / "ripencc" / "file.gz"

    def fetch(
        self, server: RegistryServer, checksum_suffix: str = "", timeout_s: float = 5
    ) -> DownloadOutcome:
        remote = RemoteFile("ripencc", server.url(PATH), checksum_suffix)
        patience = RetryPolicy(timeout_s, attempts_max=3, pause=self.pauses_s.append)
        return fetch(remote, self.folder, patience, lambda *counts: self.progress.append(counts))

    def leftovers(self) -> list[str]:
        return sorted(path.name for path in self.file.parent.iterdir() if path.suffix == ".part")


@pytest.fixture
def visit(tmp_path: Path) -> ServedRequest:
    return ServedRequest(tmp_path)


@pytest.mark.parametrize(
    ("behaviours", "requests"),
    [
        ([server.good], 1),
        ([server.whole], 1),
        ([server.without_length], 1),
        ([server.to("/elsewhere")], 2),
        ([server.broken, server.good], 2),
        ([server.garbage, server.good], 2),
        ([server.drops_midway, server.good], 2),
        ([server.drops_midway, server.whole], 2),
        ([server.drops_a_chunk, server.good], 2),
        ([server.drops_midway, server.drops_midway, server.good], 3),
        ([server.drops_midway, server.wrong_part, server.good], 3),
        ([server.drops_midway, server.unnamed_part, server.good], 3),
    ],
)
def test_the_file_arrives_whole_from_servers_that_can_be_borne_with(
    visit: ServedRequest, behaviours: list[Behaviour], requests: int
) -> None:
    with serving({PATH: behaviours, "/elsewhere": [server.good]}) as remote:
        outcome = visit.fetch(remote)
        assert len(remote.asked) == requests
    assert (outcome.state, outcome.size_bytes) == ("fetched", len(CONTENTS))
    assert visit.file.read_bytes() == CONTENTS
    assert visit.leftovers() == []


@pytest.mark.parametrize(
    ("behaviour", "why", "tries"),
    [
        (server.broken, "500", 3),
        (server.missing, "404", 1),
        (server.hangs, "said nothing for 0.2 s", 3),
        (server.stalls, "said nothing for 0.2 s", 3),
        (server.trickles, "bytes in 0.2 s", 3),
        (server.drops_midway, "before the end", 3),
        (server.garbage, "this is no HTTP", 3),
        (server.to("file:///etc/passwd"), "302", 1),
        (server.to(PATH), "redirect", 1),
    ],
)
def test_a_server_that_is_away_is_told_and_the_old_file_stays(
    visit: ServedRequest, behaviour: Behaviour, why: str, tries: int
) -> None:
    visit.file.parent.mkdir()
    visit.file.write_bytes(b"old")
    with serving({PATH: [behaviour]}) as remote:
        outcome = visit.fetch(remote, timeout_s=0.2)
    assert outcome.state == "failed"
    assert why in outcome.detail
    assert len(visit.pauses_s) == tries - 1
    assert visit.file.read_bytes() == b"old"


def test_a_dropped_download_is_taken_up_where_it_ended(visit: ServedRequest) -> None:
    with serving({PATH: [server.drops_midway, server.good]}) as remote:
        visit.fetch(remote)
        again = remote.asked[1].headers
    assert again["Range"] == "bytes=100000-"
    assert again["If-Range"] == server.ETAG
    assert visit.progress[-1] == (len(CONTENTS), len(CONTENTS))


def test_a_part_is_taken_up_by_a_later_run_too(visit: ServedRequest) -> None:
    with serving({PATH: [server.drops_midway]}) as remote:
        assert visit.fetch(remote).state == "failed"
        assert not visit.file.exists()
        assert visit.leftovers() == [".file.gz.part"]
        remote.script[PATH] = [server.good]
        assert visit.fetch(remote).state == "fetched"
        assert remote.asked[-1].headers["Range"] == "bytes=100000-"
    assert visit.file.read_bytes() == CONTENTS


def test_a_part_of_an_older_version_is_not_mixed_with_the_new_one(visit: ServedRequest) -> None:
    with serving({PATH: [server.drops_midway, server.newer_version]}) as remote:
        visit.fetch(remote)
    assert visit.file.read_bytes() == CONTENTS[::-1]


def test_a_part_that_is_longer_than_the_file_is_begun_anew(visit: ServedRequest) -> None:
    visit.file.parent.mkdir()
    visit.file.with_name(".file.gz.part").write_bytes(CONTENTS * 2)
    visit.file.with_name(".file.gz.part-validators").write_bytes(b'["\\"v1\\"",""]')
    with serving({PATH: [server.good]}) as remote:
        assert visit.fetch(remote).state == "fetched"
    assert visit.file.read_bytes() == CONTENTS


def test_what_has_not_changed_is_not_fetched_again(visit: ServedRequest) -> None:
    with serving({PATH: [server.good]}) as remote:
        visit.fetch(remote)
        outcome = visit.fetch(remote)
        assert remote.asked[1].headers["If-None-Match"] == server.ETAG
    assert (outcome.state, outcome.size_bytes) == ("unchanged", len(CONTENTS))


def test_validators_of_a_file_that_is_gone_are_not_used(visit: ServedRequest) -> None:
    with serving({PATH: [server.good]}) as remote:
        visit.fetch(remote)
        visit.file.unlink()
        assert visit.fetch(remote).state == "fetched"


@pytest.mark.parametrize("wording", ["MD5 (file) = {}\n", "{}  file\n", "{}"])
def test_a_checksum_is_compared_in_every_wording(visit: ServedRequest, wording: str) -> None:
    script: Script = {
        PATH: [server.good],
        PATH + ".md5": [server.checksum(CONTENTS, wording)],
    }
    with serving(script) as remote:
        assert visit.fetch(remote, ".md5").checksum == "agrees"


def test_a_wrong_checksum_is_refused_and_the_old_file_stays(visit: ServedRequest) -> None:
    visit.file.parent.mkdir()
    visit.file.write_bytes(b"old")
    script: Script = {
        PATH: [server.good],
        PATH + ".md5": [server.checksum(b"something else")],
    }
    with serving(script) as remote:
        outcome = visit.fetch(remote, ".md5")
    assert outcome.state == "failed"
    assert "md5" in outcome.detail
    assert visit.file.read_bytes() == b"old"
    assert visit.leftovers() == []


def test_a_file_replaced_between_it_and_its_checksum_is_fetched_again(visit: ServedRequest) -> None:
    checksums = [server.checksum(b"older"), server.checksum(CONTENTS)]
    with serving({PATH: [server.good], PATH + ".md5": checksums}) as remote:
        assert visit.fetch(remote, ".md5").checksum == "agrees"


def test_a_checksum_that_is_not_published_is_said_to_be_so(visit: ServedRequest) -> None:
    with serving({PATH: [server.good], PATH + ".md5": [server.missing]}) as remote:
        assert visit.fetch(remote, ".md5").checksum == "not published"


def test_a_refused_connection_is_an_outcome(visit: ServedRequest) -> None:
    with serving({}) as remote:
        pass
    outcome = visit.fetch(remote)
    assert outcome.state == "failed"
    assert "refused" in outcome.detail


def test_a_folder_that_cannot_be_made_is_the_hosts_fault(tmp_path: Path) -> None:
    (tmp_path / "ripencc").write_text("a file where a folder should be")
    with serving({PATH: [server.good]}) as remote, pytest.raises(HostFault, match="ripencc"):
        ServedRequest(tmp_path).fetch(remote)


def test_every_registry_has_its_statistics_and_bulk_files_come_from_settings() -> None:
    statistics = {file.registry for file in PUBLIC_FILES if "extended" in file.name}
    assert statistics == set(REGISTRIES)
    assert all(file.url.startswith("https://") for file in PUBLIC_FILES)
    bulk = RegistrySettings(arin_bulk_url="https://whois.example/arin_db.xml")
    assert [file.name for file in files_to_fetch(bulk, ("arin",))] == [
        "delegated-arin-extended-latest",
        "arin_db.xml",
    ]


def test_the_command_fetches_the_others_when_one_is_away_and_ends_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(downloads, "PAUSE_FIRST_S", 0.0)
    with serving({"/a": [server.missing], "/b": [server.good]}) as remote:
        files = (RemoteFile("apnic", remote.url("/a")), RemoteFile("arin", remote.url("/b")))
        monkeypatch.setattr(sources, "PUBLIC_FILES", files)
        assert run(["registry", "fetch", "--into", str(tmp_path), "--json"]) == 4
    assert (tmp_path / "arin" / "b").read_bytes() == CONTENTS
    told = capsys.readouterr()
    assert '"state": "failed"' in told.out
    assert "1 of 2 files could not be fetched" in told.err

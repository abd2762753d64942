"""Packages are durable before they are acknowledged, and integrated once, whichever process dies in
between.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.folder import package_store
from ipmicra.coordinator.store import hosts, packages
from ipmicra.coordinator.store.hosts import HostRefused
from ipmicra.coordinator.store.package_bytes.file_store import PackageStore
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.model.ids import LeaseEpoch
from ipmicra.testing.package_store_contract import PACKAGE_STORE, OpenStore
from tests.coordinator.coordinator_process import free_port
from tests.coordinator.s3_server import BUCKET, s3_server

NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    with s3_server() as environment:
        yield environment


@pytest.fixture(params=["files", "s3"])
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> OpenStore:
    if request.param == "files":
        return lambda: package_store("", tmp_path)
    for name, value in request.getfixturevalue("s3").items():
        monkeypatch.setenv(name, value)
    return lambda: package_store(f"s3://{BUCKET}/{tmp_path.name}/", tmp_path)


@pytest.fixture
def store(open_store: OpenStore) -> PackageStore:
    return open_store()


@pytest.fixture
def home(database: Database) -> Database:
    with database.begin() as c:
        hosts.register(c, "lima", "token", NOW, 3600)
        hosts.enrol(c, "token", bytes(32), "192.0.2.1", NOW)
    return database


def arrival(sequence: int = 1, data: bytes = b"pages", epoch: int = 0) -> PackageArrival:
    return PackageArrival("lima", sequence, digest_of(data), LeaseEpoch(epoch), data)


@pytest.mark.parametrize("promise", PACKAGE_STORE.promises)
def test_every_store_keeps_its_promises(open_store: OpenStore, promise: str) -> None:
    PACKAGE_STORE.check_promise(promise, lambda: nullcontext(open_store))


def test_a_lost_package_is_said_to_be_missing_or_damaged(store: PackageStore) -> None:
    digest = digest_of(b"pages")
    with pytest.raises(HostFault, match="is missing"):
        store.fetch(digest)
    store.keep(digest, b"page5")  # as if a disk had turned a bit over
    with pytest.raises(HostFault, match="is damaged"):
        store.fetch(digest)


def test_replicas_share_what_lies_in_s3(
    s3: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    one, other = (package_store(f"s3://{BUCKET}/shared", tmp_path / name) for name in "ab")
    one.keep(digest_of(b"pages"), b"pages")
    assert other.fetch(digest_of(b"pages")) == b"pages"


def test_an_s3_that_is_away_is_a_fault_of_where_we_run(
    s3: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    no_bucket = package_store("s3://no-such-bucket", tmp_path)
    with pytest.raises(HostFault, match="storing the package"):
        no_bucket.keep(digest_of(b"pages"), b"pages")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    away = package_store(f"s3://{BUCKET}", tmp_path)
    with pytest.raises(HostFault, match="fetching the package"):
        away.fetch(digest_of(b"pages"))


@pytest.mark.parametrize("address", ["ftp://crates", "s3://", "crates"])
def test_a_place_that_is_no_s3_is_the_operators_fault(address: str, tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="s3://BUCKET"):
        package_store(address, tmp_path)


def test_the_same_package_is_taken_once_and_acknowledged_as_often_as_it_comes(
    home: Database, store: PackageStore
) -> None:
    assert packages.receive(home, store, arrival(), NOW)
    assert not packages.receive(home, store, arrival(), NOW)
    with home.begin() as c:
        assert packages.counts(c) == {"kept": 1}


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (arrival()._replace(data=b"altered"), "digest"),
        (arrival(data=b"another under the same number"), "number"),
        (arrival(2, epoch=1), "epoch"),
        (arrival(2)._replace(crawler="nobody"), "epoch"),
    ],
)
def test_what_is_not_right_is_refused(
    home: Database, store: PackageStore, bad: PackageArrival, kind: str
) -> None:
    packages.receive(home, store, arrival(), NOW)
    with pytest.raises(HostRefused) as refused:
        packages.receive(home, store, bad, NOW)
    assert refused.value.refusal.kind == kind


def test_late_packages_of_a_host_that_lost_its_lease_are_refused(
    home: Database, store: PackageStore
) -> None:
    with home.begin() as c:
        epoch = hosts.renew_lease(c, "lima", NOW, 60)
    packages.receive(home, store, arrival(1, b"in time", epoch), NOW)
    with home.begin() as c:
        hosts.expire_leases(c, NOW + 61)
    with pytest.raises(HostRefused, match="assigned to others"):
        packages.receive(home, store, arrival(2, b"late", epoch), NOW + 62)
    assert not packages.receive(home, store, arrival(1, b"in time", epoch), NOW + 62)


def test_an_expired_claim_may_be_taken_by_anyone(home: Database, store: PackageStore) -> None:
    packages.receive(home, store, arrival(), NOW)
    with home.begin() as c:
        [first] = packages.claim(c, "a", NOW, 60, 10)
        assert packages.claim(c, "b", NOW + 30, 60, 10) == []
        assert packages.claim(c, "b", NOW + 61, 60, 10) == [first]
        assert packages.mark_integrated(c, first, NOW)
        assert not packages.mark_integrated(c, first, NOW)
        assert packages.claim(c, "b", NOW + 200, 60, 10) == []


def test_a_claim_by_a_clock_that_was_hours_ahead_is_anybodys(
    home: Database, store: PackageStore
) -> None:
    packages.receive(home, store, arrival(), NOW)
    with home.begin() as c:
        assert packages.claim(c, "ahead", NOW + 7200, 60, 5)
        assert packages.has_pending(c, NOW)
        assert packages.claim(c, "right", NOW, 60, 5)
        assert not packages.has_pending(c, NOW)


def test_a_damaged_package_is_kept_aside_with_its_reason(home: Database, store: PackageStore) -> None:
    packages.receive(home, store, arrival(), NOW)
    with home.begin() as c:
        [claimed] = packages.claim(c, "a", NOW, 60, 10)
        assert packages.mark_refused(c, claimed, "no package", NOW)
        assert packages.counts(c) == {"refused": 1}
    assert store.fetch(claimed.digest) == b"pages"


def test_many_workers_share_the_packages_without_overlap(home: Database, store: PackageStore) -> None:
    for number in range(60):
        packages.receive(home, store, arrival(number, b"%d" % number), NOW)
    taken: list[packages.ClaimedPackage] = []

    def work(name: str) -> None:
        while True:
            with home.begin() as c:
                claimed = packages.claim(c, name, NOW, 60, 7)
            if not claimed:
                return
            assert len(claimed) <= 7
            taken.extend(claimed)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed.sequence for claimed in taken) == list(range(60))

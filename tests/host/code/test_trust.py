"""Whose bundle it is: everything that The Update Framework is there to refuse, over real HTTP."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from ipmicra.coordinator.bundles.keys import make_keys
from ipmicra.coordinator.bundles.repository import Repository
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.protocol.bundle_format import BadBundle, BundleCaps
from ipmicra.protocol.bundle_trust import Bundles, fingerprint
from tests.host.code.published_bundles import NOW, Publisher, bundle, publishing


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Publisher]:
    with publishing(tmp_path) as running:
        yield running


def test_a_signed_bundle_arrives_as_it_was_signed(publisher: Publisher) -> None:
    data = publisher.release("1.0")
    assert publisher.host().fetch("1.0") == data
    newer = publisher.release("1.1")
    assert publisher.host().fetch("1.1") == newer
    assert publisher.host().fetch("1.0") == data, "both are signed for"


def test_a_tampered_bundle_is_refused(publisher: Publisher) -> None:
    publisher.release("1.0")
    path = publisher.file("targets/*")
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(BadBundle, match="not to be trusted"):
        publisher.host().fetch("1.0")


def test_tampered_metadata_is_refused(publisher: Publisher) -> None:
    publisher.release("1.0")
    path = publisher.file("metadata/2.targets.json")
    path.write_bytes(re.sub(rb'"length": ?', b'"length":1', path.read_bytes()))
    with pytest.raises(BadBundle, match="not to be trusted"):
        publisher.host().fetch("1.0")


def test_a_repository_rolled_back_to_an_older_state_is_refused(publisher: Publisher) -> None:
    publisher.release("1.0")
    shutil.copytree(publisher.published, publisher.folder / "yesterday")
    publisher.release("1.1")
    host = publisher.host()
    host.fetch("1.1")
    shutil.rmtree(publisher.published)
    shutil.copytree(publisher.folder / "yesterday", publisher.published)
    with pytest.raises(BadBundle, match="not to be trusted"):
        publisher.host().fetch("1.0")


def test_a_repository_frozen_at_an_old_state_is_refused(publisher: Publisher) -> None:
    """A man in the middle answers with what was true eight days ago; a timestamp lives seven."""
    publisher.release("1.0", days_ago=8)
    with pytest.raises(BadBundle, match=r"not to be trusted.*expired"):
        publisher.host().fetch("1.0")
    publisher.repository.refresh(publisher.keys, NOW)
    publisher.host().fetch("1.0")


def test_expired_roots_are_refused(publisher: Publisher) -> None:
    publisher.repository.rotate(publisher.keys, "timestamp", NOW - timedelta(days=400))
    publisher.repository.refresh(publisher.keys, NOW)
    with pytest.raises(BadBundle, match=r"not to be trusted.*expired"):
        publisher.host().fetch("1.0")


def test_what_an_unknown_key_signed_is_refused(publisher: Publisher, tmp_path: Path) -> None:
    publisher.release("1.0")
    stranger = Repository(tmp_path / "stranger")
    stranger.init(tmp_path / "strangers-keys", root_keys=3, threshold=2, now=NOW)
    stranger.sign(bundle("6.6"), tmp_path / "strangers-keys", NOW)
    theirs = Bundles(publisher.address, tmp_path / "host", publisher.root)
    for path in (tmp_path / "stranger").rglob("*.*"):
        if "root" not in path.name:
            shutil.copy(path, publisher.published / path.parent.name / path.name)
    with pytest.raises(BadBundle, match=r"not to be trusted.*signed by 0/1"):
        theirs.fetch("6.6")


def test_a_new_root_signed_by_too_few_is_refused(publisher: Publisher) -> None:
    publisher.release("1.0")
    for number in (2, 3):
        (publisher.keys / f"root-{number}.pem").rename(publisher.folder / f"in-a-vault-{number}")
    publisher.repository.rotate(publisher.keys, "targets", NOW)
    with pytest.raises(BadBundle, match=r"not to be trusted.*signed by 1/2"):
        publisher.host().fetch("1.0")


@pytest.mark.parametrize("role", ["root", "targets", "snapshot", "timestamp"])
def test_keys_can_be_rotated_and_hosts_follow(publisher: Publisher, role: str) -> None:
    publisher.release("1.0")
    publisher.host().fetch("1.0")
    publisher.repository.rotate(publisher.keys, role, NOW)  # type: ignore[arg-type]  # a role's name
    data = publisher.release("1.1")
    assert publisher.host().fetch("1.1") == data
    assert publisher.host("newcomer").fetch("1.1") == data, "also from the first root"


def test_a_bundle_that_is_too_large_is_refused_before_it_is_fetched(publisher: Publisher) -> None:
    publisher.release("1.0")
    with pytest.raises(BadBundle, match="more than 64"):
        publisher.host(caps=BundleCaps(bundle_bytes_max=64)).fetch("1.0")


def test_an_endless_answer_is_cut_off(publisher: Publisher) -> None:
    publisher.release("1.0")
    publisher.endless = True
    with pytest.raises(BadBundle, match=r"not to be trusted.*exceeding"):
        publisher.host().fetch("1.0")


def test_a_dripping_answer_is_given_up(publisher: Publisher) -> None:
    publisher.release("1.0")
    publisher.drips_s = 0.01
    began = time.monotonic()
    with pytest.raises(HostFault, match=r"not complete within 0.3 s"):
        publisher.host(patience_s=0.3).fetch("1.0")
    assert time.monotonic() - began < 10


def test_a_withdrawn_version_and_one_that_never_was_are_refused(publisher: Publisher) -> None:
    publisher.release("1.0")
    publisher.release("1.1")
    publisher.repository.withdraw("1.1", publisher.keys, NOW)
    for version in ("1.1", "3.0"):
        with pytest.raises(BadBundle, match="not among the signed"):
            publisher.host().fetch(version)


def test_a_version_that_is_not_newer_cannot_be_signed(publisher: Publisher) -> None:
    publisher.release("1.10")
    for version in ("1.10", "1.9"):
        with pytest.raises(OperatorFault, match=r"not newer than 1\.10"):
            publisher.release(version)
    assert publisher.repository.versions() == ["1.10"]


def test_a_coordinator_that_is_away_is_not_a_bad_bundle(publisher: Publisher, tmp_path: Path) -> None:
    nobody = Bundles("http://127.0.0.1:9", tmp_path / "host", publisher.root)
    with pytest.raises(HostFault) as raised:
        nobody.fetch("1.0")
    assert not isinstance(raised.value, BadBundle)


def test_the_fingerprint_tells_roots_apart(publisher: Publisher, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other").init(tmp_path / "other-keys", 1, 1, NOW)
    assert fingerprint(publisher.root) != fingerprint(other)
    assert len(fingerprint(other).split()) == 8


def test_keys_are_readable_by_their_owner_only_and_never_published(publisher: Publisher) -> None:
    keys = list(publisher.keys.iterdir())
    assert len(keys) == 6
    assert all(path.stat().st_mode & 0o077 == 0 for path in keys)
    for published in publisher.published.rglob("*.*"):
        assert b"PRIVATE" not in published.read_bytes()


def test_a_threshold_that_cannot_be_reached_is_the_operators_fault(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="cannot be reached"):
        Repository(tmp_path / "r").init(tmp_path / "k", root_keys=2, threshold=3, now=NOW)


def test_keys_that_the_root_does_not_name_sign_nothing(publisher: Publisher, tmp_path: Path) -> None:
    for role in ("targets", "snapshot", "timestamp"):
        make_keys(tmp_path / "other", role, 1)
    with pytest.raises(OperatorFault, match="none of the targets keys"):
        publisher.repository.sign(bundle("1.0"), tmp_path / "other", NOW)

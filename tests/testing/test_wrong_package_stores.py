"""A package store that breaks a promise is refused, by that promise's name."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.store.package_bytes.file_store import PackageLost
from ipmicra.errors import HostFault
from ipmicra.testing import PACKAGE_STORE, PromiseBroken, check_package_store


class MemoryStore:
    """Right: all stores that share a dictionary are one."""

    def __init__(self, packages: dict[str, bytes]) -> None:
        self.packages = packages

    def keep(self, digest: str, data: bytes) -> None:
        self.packages.setdefault(digest, data)

    def fetch(self, digest: str) -> bytes:
        data = self.packages.get(digest)
        if data is None or digest_of(data) != digest:
            raise PackageLost(f"the package {digest[:12]} is not here")
        return data

    def discard(self, digest: str) -> None:
        self.packages.pop(digest, None)


class CutsOff(MemoryStore):
    def keep(self, digest: str, data: bytes) -> None:
        super().keep(digest, data[: 1 << 10])


class TakesOnce(MemoryStore):
    def keep(self, digest: str, data: bytes) -> None:
        if digest in self.packages:
            raise HostFault("it is here already")
        super().keep(digest, data)


class Forgets(MemoryStore):
    def __init__(self, packages: dict[str, bytes]) -> None:
        super().__init__({})


class ReturnsNothing(MemoryStore):
    def fetch(self, digest: str) -> bytes:
        return super().fetch(digest) if digest in self.packages else b""


class DiscardsAll(MemoryStore):
    def discard(self, digest: str) -> None:
        self.packages.clear()


class DiscardsForEver(MemoryStore):
    def discard(self, digest: str) -> None:
        self.packages[digest] = b"never again"


class Trusts(MemoryStore):
    def fetch(self, digest: str) -> bytes:
        super().fetch(digest) if digest not in self.packages else None
        return self.packages[digest]


class OneAtATime(MemoryStore):
    busy = False

    def keep(self, digest: str, data: bytes) -> None:
        if OneAtATime.busy:
            raise HostFault("busy")
        OneAtATime.busy = True
        for number in range(200_000):  # long enough for another thread to get its turn
            assert number >= 0
        super().keep(digest, data)
        OneAtATime.busy = False


WRONG = {
    "what_was_kept_is_fetched_unchanged": CutsOff,
    "keeping_the_same_package_again_changes_nothing": TakesOnce,
    "what_was_kept_is_there_when_the_store_is_opened_again": Forgets,
    "a_package_that_was_never_kept_is_lost": ReturnsNothing,
    "a_discarded_package_is_lost_and_may_be_discarded_again": DiscardsAll,
    "a_discarded_package_can_be_kept_again": DiscardsForEver,
    "bytes_that_do_not_match_their_digest_are_not_returned": Trusts,
    "several_threads_may_keep_at_once": OneAtATime,
}


def test_a_right_store_passes() -> None:
    packages: dict[str, bytes] = {}
    check_package_store(lambda: MemoryStore(packages))
    assert packages


def test_every_promise_has_a_store_that_breaks_it() -> None:
    assert list(WRONG) == list(PACKAGE_STORE.promises)


@pytest.mark.parametrize("promise", WRONG)
def test_a_wrong_store_is_refused_by_name(promise: str) -> None:
    packages: dict[str, bytes] = {}
    with pytest.raises(PromiseBroken) as broken:
        PACKAGE_STORE.check_promise(promise, lambda: nullcontext(lambda: WRONG[promise](packages)))
    assert broken.value.promise == promise
    assert isinstance(broken.value.__cause__, AssertionError | HostFault)
    with pytest.raises(PromiseBroken, match="a package store must keep"):
        check_package_store(lambda: WRONG[promise]({}))

"""How to open a package store -> whether it keeps the promises of `PackageStore`.

Invariant: a store is opened by a function that finds the same packages at each call, as two replicas do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.store.package_bytes.file_store import PackageLost, PackageStore
from ipmicra.testing.contract import Contract

OpenStore: TypeAlias = Callable[[], PackageStore]
PACKAGE_STORE: Contract[OpenStore] = Contract("a package store")
PAGES, OTHER_PAGES = b"pages", b"other pages"


def check_package_store(open_store: OpenStore) -> None:
    """Check a package store. Each call of `open_store` must find the same packages. Raises PromiseBroken."""

    @contextmanager
    def subject() -> Iterator[OpenStore]:
        yield open_store

    PACKAGE_STORE.check(subject)


def expect_lost(store: PackageStore, data: bytes) -> None:
    """The store must not return this package, and must say which one it is that is lost."""
    try:
        fetched = store.fetch(digest_of(data))
    except PackageLost as lost:
        message = str(lost)
    else:
        raise AssertionError(f"PackageLost was expected, {fetched!r} was returned")
    assert digest_of(data)[:12] in message, f"the message must name the package: {message}"


@PACKAGE_STORE.promise
def what_was_kept_is_fetched_unchanged(open_store: OpenStore) -> None:
    store = open_store()
    every_byte = bytes(range(256)) * 4096
    for data in (PAGES, OTHER_PAGES, b"\x00", every_byte):
        store.keep(digest_of(data), data)
    for data in (PAGES, OTHER_PAGES, b"\x00", every_byte):
        assert store.fetch(digest_of(data)) == data


@PACKAGE_STORE.promise
def keeping_the_same_package_again_changes_nothing(open_store: OpenStore) -> None:
    store = open_store()
    store.keep(digest_of(PAGES), PAGES)
    store.keep(digest_of(PAGES), PAGES)
    assert store.fetch(digest_of(PAGES)) == PAGES


@PACKAGE_STORE.promise
def what_was_kept_is_there_when_the_store_is_opened_again(open_store: OpenStore) -> None:
    open_store().keep(digest_of(PAGES), PAGES)
    assert open_store().fetch(digest_of(PAGES)) == PAGES


@PACKAGE_STORE.promise
def a_package_that_was_never_kept_is_lost(open_store: OpenStore) -> None:
    expect_lost(open_store(), b"never kept")


@PACKAGE_STORE.promise
def a_discarded_package_is_lost_and_may_be_discarded_again(open_store: OpenStore) -> None:
    store = open_store()
    store.keep(digest_of(PAGES), PAGES)
    store.keep(digest_of(OTHER_PAGES), OTHER_PAGES)
    store.discard(digest_of(PAGES))
    store.discard(digest_of(PAGES))
    expect_lost(store, PAGES)
    assert store.fetch(digest_of(OTHER_PAGES)) == OTHER_PAGES, "only that package is discarded"


@PACKAGE_STORE.promise
def a_discarded_package_can_be_kept_again(open_store: OpenStore) -> None:
    store = open_store()
    store.keep(digest_of(PAGES), PAGES)
    store.discard(digest_of(PAGES))
    store.keep(digest_of(PAGES), PAGES)
    assert store.fetch(digest_of(PAGES)) == PAGES


@PACKAGE_STORE.promise
def bytes_that_do_not_match_their_digest_are_not_returned(open_store: OpenStore) -> None:
    store = open_store()
    intended = b"a page that a disk has changed"
    store.keep(digest_of(intended), intended.replace(b"page", b"pagf"))
    expect_lost(store, intended)


@PACKAGE_STORE.promise
def several_threads_may_keep_at_once(open_store: OpenStore) -> None:
    store = open_store()
    packages = [b"package %d" % (number % 8) for number in range(32)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda data: store.keep(digest_of(data), data), packages))
    assert [store.fetch(digest_of(data)) for data in packages] == packages

"""Packages as bytes -> objects in an S3 bucket, shared by all replicas.

Keys, region and endpoint come from the environment, as for every S3 program: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL. Invariant: a package is
acknowledged only after S3 has confirmed it; any other response is a HostFault, and the host tries again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from ipmicra.coordinator.store.package_bytes.file_store import PackageLost, verified
from ipmicra.errors import HostFault, OperatorFault

if TYPE_CHECKING:
    from obstore.store import S3Store

SCHEME = "s3://"
TRIES = 3
SECONDS_MAX = 25  # for all tries together: a host waits one minute for a response
_HERE = ("http://127.", "http://localhost", "http://[::1]")


class S3PackageStore:
    """One object per package."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._store = open_bucket(address)

    def keep(self, digest: str, data: bytes) -> None:
        import obstore

        with self._doing("storing", digest):
            obstore.put(self._store, _key(digest), data)

    def fetch(self, digest: str) -> bytes:
        import obstore

        with self._doing("fetching", digest):
            try:
                data = bytes(obstore.get(self._store, _key(digest)).bytes())
            except FileNotFoundError as error:
                raise PackageLost(
                    f"the package {digest[:12]} is missing from {self._address}"
                ) from error
        return verified(digest, data, self._address)

    def discard(self, digest: str) -> None:
        import obstore

        with self._doing("discarding", digest):
            obstore.delete(self._store, _key(digest))

    @contextmanager
    def _doing(self, what: str, digest: str) -> Iterator[None]:
        import obstore

        try:
            yield
        except (OSError, obstore.exceptions.BaseError) as error:
            lines = str(error).splitlines() or [type(error).__name__]
            raise HostFault(
                f"{what} the package {digest[:12]} in {self._address}: {lines[0]}"
            ) from error


def _key(digest: str) -> str:
    return f"{digest[:2]}/{digest}"


def open_bucket(address: str) -> S3Store:
    """Open the bucket. Plain HTTP is allowed for an endpoint on this machine only."""
    try:
        import obstore
        from obstore.store import S3Store
    except ImportError as error:
        raise OperatorFault(
            "storing packages in S3 needs an extra: pip install 'ipmicra[s3]'"
        ) from error
    if not address.removeprefix(SCHEME).strip("/"):
        raise OperatorFault(
            f"coordinator.packages = {address!r}: write s3://BUCKET or s3://BUCKET/PREFIX"
        )
    is_here = os.environ.get("AWS_ENDPOINT_URL", "").startswith(_HERE)
    patience = timedelta(seconds=SECONDS_MAX)
    try:
        return S3Store.from_url(
            address,
            client_options={"allow_http": is_here, "timeout": patience},
            retry_config={"max_retries": TRIES - 1, "retry_timeout": patience},
        )
    except obstore.exceptions.BaseError as error:
        raise OperatorFault(f"coordinator.packages = {address!r}: {error}") from error

"""A coordinator's bundles and a root of trust -> the bytes of one bundle, or a refusal with its reason.

The Update Framework decides: a threshold of offline root keys says which keys sign what. Metadata
expires, so a host cannot be held at an old state; it is numbered, so a host cannot be taken back to one.
Invariant: no byte of a bundle is used before its signed length and digest were checked; the first root is
the one that the host's owner accepted on joining.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
from tuf.api.exceptions import DownloadError, DownloadHTTPError, RepositoryError
from tuf.ngclient import FetcherInterface, Updater, UpdaterConfig

from ipmicra.errors import HostFault, OperatorFault
from ipmicra.protocol.bundle_format import ORDINARY_CAPS, BadBundle, BundleCaps
from ipmicra.protocol.versions import checked_version

METADATA_PATH = "/v1/bundles/metadata/"
TARGETS_PATH = "/v1/bundles/targets/"
FIRST_ROOT = "1.root.json"
METADATA_FOLDER = "trusted"
METADATA_BYTES_MAX = 512_000
FILE_SECONDS_MAX = 60.0  # for one file, however it drips
SILENCE_SECONDS_MAX = 20.0
_CHUNK_BYTES = 64 << 10


class Bundles:
    """The bundles of one coordinator, as this host believes them."""

    def __init__(
        self,
        coordinator: str,
        folder: Path,
        root: bytes,
        caps: BundleCaps = ORDINARY_CAPS,
        patience_s: float = FILE_SECONDS_MAX,
    ) -> None:
        self._coordinator = coordinator.rstrip("/")
        self._folder = folder / METADATA_FOLDER
        self._root = root
        self._caps = caps
        self._patience_s = patience_s

    def fetch(self, version: str) -> bytes:
        """A bundle's bytes. Blocks; call it in a thread. Raises BadBundle, or HostFault when away."""
        name = bundle_name(version)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with httpx.Client(timeout=SILENCE_SECONDS_MAX, follow_redirects=False) as client:
            try:
                return self._fetched(client, name)
            except DownloadHTTPError as error:
                raise HostFault(
                    f"fetching {name}: the coordinator answered {error.status_code}"
                ) from error
            except DownloadError as error:
                raise _download_fault(name, error) from error
            except RepositoryError as error:
                raise BadBundle(f"{name} is not to be trusted: {_describe(error)}") from error

    def _fetched(self, client: httpx.Client, name: str) -> bytes:
        updater = Updater(
            str(self._folder),
            f"{self._coordinator}{METADATA_PATH}",
            target_base_url=f"{self._coordinator}{TARGETS_PATH}",
            fetcher=_BoundedFetcher(client, self._patience_s),
            config=_CONFIG,
            bootstrap=self._root,
        )
        updater.refresh()
        found = updater.get_targetinfo(name)
        if found is None:
            raise BadBundle(f"{name} is not among the signed bundles")
        if found.length > self._caps.bundle_bytes_max:
            raise BadBundle(f"{name} has {found.length} bytes, more than {self._caps.bundle_bytes_max}")
        target = self._folder / "bundle.zip"
        try:
            return Path(updater.download_target(found, str(target))).read_bytes()
        finally:
            target.unlink(missing_ok=True)


def first_root(coordinator: str) -> bytes:
    """The root that a coordinator says is its first. Believe it only by its fingerprint."""
    url = f"{coordinator.rstrip('/')}{METADATA_PATH}{FIRST_ROOT}"
    with httpx.Client(timeout=SILENCE_SECONDS_MAX) as client:
        try:
            return _BoundedFetcher(client, FILE_SECONDS_MAX).download_bytes(url, METADATA_BYTES_MAX)
        except DownloadHTTPError as error:
            raise OperatorFault(
                f"{coordinator} has no signed code to give: {error.status_code}"
            ) from error
        except DownloadError as error:
            raise HostFault(f"fetching the first root of {coordinator}: {_describe(error)}") from error


def bundle_name(version: str) -> str:
    return f"crawler-{checked_version(version)}.zip"


def fingerprint(root: bytes) -> str:
    """The first root's digest in groups that can be read aloud; the owner compares it before they trust
    it.
    """
    digest = hashlib.sha256(root).hexdigest()[:32]
    return " ".join(digest[at : at + 4] for at in range(0, len(digest), 4))


_CONFIG = UpdaterConfig(
    root_max_length=METADATA_BYTES_MAX,
    timestamp_max_length=16_384,
    snapshot_max_length=METADATA_BYTES_MAX,
    targets_max_length=METADATA_BYTES_MAX,
)


class _BoundedFetcher(FetcherInterface):
    """Plain GETs with a limit on the total time. TUF itself counts the bytes."""

    def __init__(
        self, client: httpx.Client, patience_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._patience_s, self._clock = client, patience_s, clock

    def _fetch(self, url: str) -> Iterator[bytes]:
        until = self._clock() + self._patience_s
        try:
            with self._client.stream("GET", url, headers={"accept-encoding": "identity"}) as answer:
                if answer.status_code != 200:
                    raise DownloadHTTPError(f"{url}: {answer.status_code}", answer.status_code)
                for chunk in answer.iter_raw(_CHUNK_BYTES):
                    if self._clock() > until:
                        raise DownloadError(f"{url} was not complete within {self._patience_s:g} s")
                    yield chunk
        except httpx.HTTPError as error:
            raise DownloadError(f"{url}: {error or type(error).__name__}") from error


def _download_fault(name: str, error: DownloadError) -> HostFault:
    """Too long is the sender's doing; all else may be the network's."""
    if type(error).__name__ == "DownloadLengthMismatchError":
        return BadBundle(f"{name} is not to be trusted: {_describe(error)}")
    return HostFault(f"fetching {name}: {_describe(error)}")


def _describe(error: Exception) -> str:
    return f"{error or type(error).__name__}"

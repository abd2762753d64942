"""FILE or s3://BUCKET/KEY -> a local file to write a backup to or to read it from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ipmicra.coordinator.store.package_bytes.s3_store import SCHEME, open_bucket
from ipmicra.errors import HostFault, OperatorFault


@contextmanager
def written(place: str) -> Iterator[Path]:
    """A file to write; on leaving it is where `place` says."""
    if not place.startswith(SCHEME):
        path = Path(place).absolute()
        if path.is_dir() or not path.parent.is_dir():
            raise OperatorFault(f"{place} is not a file in a folder that exists")
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ipmicra-backup-") as work:
        file = Path(work) / "backup"
        yield file
        _transfer("writing", place, lambda obstore, bucket, key: obstore.put(bucket, key, file))


@contextmanager
def fetched(place: str) -> Iterator[Path]:
    """The file that `place` names."""
    if not place.startswith(SCHEME):
        yield Path(place)
        return
    with tempfile.TemporaryDirectory(prefix="ipmicra-backup-") as work:
        file = Path(work) / "backup"

        def fetch(obstore: object, bucket: object, key: str) -> None:
            with file.open("wb") as out:
                for part in obstore.get(bucket, key).stream():  # type: ignore[attr-defined]  # imported late
                    out.write(bytes(part))

        _transfer("reading", place, fetch)
        yield file


def _transfer(what: str, place: str, act: object) -> None:
    bucket_name, _, key = place.removeprefix(SCHEME).partition("/")
    if not key:
        raise OperatorFault(f"{place}: write s3://BUCKET/NAME")
    bucket = open_bucket(f"{SCHEME}{bucket_name}")
    import obstore

    try:
        assert callable(act)
        act(obstore, bucket, key)
    except FileNotFoundError as error:
        raise OperatorFault(f"there is no backup {place}") from error
    except (OSError, obstore.exceptions.BaseError) as error:
        raise HostFault(f"{what} the backup {place}: {str(error).splitlines()[0]}") from error

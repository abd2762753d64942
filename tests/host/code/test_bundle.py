"""Bundles: the same code makes the same bytes; what is not as it should be is not unpacked."""

from __future__ import annotations

import errno
import io
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.protocol.bundle_format import (
    BadBundle,
    BundleCaps,
    BundleManifest,
    NeededRuntime,
    pack,
    read,
    unpack,
)

FILES = {"crawler/__init__.py": b"", "crawler/main.py": b"print('fetched')\n"}
GOOD = pack("1.2.0", "crawler.main", FILES)


def test_the_same_code_makes_the_same_bytes() -> None:
    shuffled = dict(reversed(FILES.items()))
    assert pack("1.2.0", "crawler.main", shuffled) == GOOD


def test_a_bundle_unpacks_to_what_was_packed(tmp_path: Path) -> None:
    manifest = unpack(GOOD, tmp_path / "slot")
    assert (manifest.version, manifest.program) == ("1.2.0", "crawler.main")
    assert (tmp_path / "slot" / "crawler" / "main.py").read_bytes() == FILES["crawler/main.py"]


def rewritten(change: Callable[[zipfile.ZipFile], None], files: dict[str, bytes] = FILES) -> bytes:
    """A bundle as somebody else might have written it."""
    archive = io.BytesIO(pack("1.2.0", "crawler.main", files))
    with zipfile.ZipFile(archive, "a") as bundle:
        change(bundle)
    return archive.getvalue()


def with_runtime(**needs: object) -> bytes:
    manifest = BundleManifest(
        version="1", program="a", runtime=msgspec.convert(needs, NeededRuntime), files={}
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("manifest.json", msgspec.json.encode(manifest))
    return archive.getvalue()


def without_a_file() -> bytes:
    """Its manifest names a file that did not come with it."""
    manifest = BundleManifest(
        version="1", program="a", runtime=NeededRuntime(), files={"a.py": "0" * 64}
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("manifest.json", msgspec.json.encode(manifest))
    return archive.getvalue()


def link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("code/crawler/keys.py")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("bundle", "reason"),
    [
        (b"", "damaged"),
        (b"PK\x03\x04 nonsense", "damaged"),
        (GOOD[:-30], "damaged"),
        (rewritten(lambda b: b.writestr("code/../../etc/cron.py", b"")), "not a Python file under"),
        (rewritten(lambda b: b.writestr("/etc/cron.py", b"")), "not a Python file under"),
        (rewritten(lambda b: b.writestr("code/..\\up.py", b"")), "not a Python file under"),
        (rewritten(lambda b: b.writestr("code//root.py", b"")), "not a Python file under"),
        (rewritten(lambda b: b.writestr(link(), "/etc/passwd")), "not a Python file under"),
        (rewritten(lambda b: b.writestr("code/crawler/fast.so", b"\x7fELF")), "not a Python file under"),
        (rewritten(lambda b: b.writestr("code/crawler/more.py", b"evil()")), "without listing it"),
        (without_a_file(), "lacks"),
        (with_runtime(seam=99), "wrong runtime"),
        (with_runtime(python_least=[99, 0]), "wrong runtime"),
        (with_runtime(packages=["no_such_package_here"]), "wrong runtime"),
        (with_runtime(packages=["os; import evil"]), "wrong runtime"),
    ],
)
def test_a_bundle_that_is_not_in_order_is_refused_and_leaves_nothing(
    bundle: bytes, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(BadBundle, match=reason):
        unpack(bundle, tmp_path / "slot")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_differs_from_its_manifest_is_refused() -> None:
    other = pack("1.2.0", "crawler.main", {**FILES, "crawler/main.py": b"evil()"})
    archive = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(other)) as theirs,
        zipfile.ZipFile(io.BytesIO(GOOD)) as ours,
        zipfile.ZipFile(archive, "w") as forged,
    ):
        forged.writestr("manifest.json", ours.read("manifest.json"))
        for path in FILES:
            forged.writestr(f"code/{path}", theirs.read(f"code/{path}"))
    with pytest.raises(BadBundle, match="not what its manifest says"):
        read(archive.getvalue())


def test_a_bomb_is_given_up_while_it_inflates() -> None:
    bomb = pack("1", "a", {"a.py": b"#" * 5_000_000})
    assert len(bomb) < 50_000
    with pytest.raises(BadBundle, match="inflates to more"):
        read(bomb, BundleCaps(code_bytes_max=1_000_000))


@pytest.mark.parametrize("caps", [BundleCaps(bundle_bytes_max=100), BundleCaps(files_max=2)])
def test_a_bundle_larger_than_the_caps_is_refused(caps: BundleCaps) -> None:
    with pytest.raises(BadBundle, match="more than"):
        read(GOOD, caps)


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_bundle_with_one_byte_changed_is_itself_or_refused(at: int, by: int) -> None:
    data = bytearray(GOOD)
    data[at] ^= by
    try:
        _, files = read(bytes(data))
    except BadBundle:
        return
    assert files == FILES


def test_a_disk_that_is_full_leaves_no_half_of_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_nothing(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(Path, "write_bytes", write_nothing)
    with pytest.raises(OSError, match="no space"):
        unpack(GOOD, tmp_path / "slot")
    assert not (tmp_path / "slot").exists()

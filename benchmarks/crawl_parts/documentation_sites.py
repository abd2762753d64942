"""Names of Debian packages -> documentation trees in a cache folder, each the root of one site.

Downloaded by `apt-get download`, unpacked by `dpkg-deb -x`, never installed. A site's start page links to
every page of it, so that what there is to fetch is known; all the other links are the authors'.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import urllib.parse
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from ipmicra.errors import HostFault, OperatorFault

PACKAGES = (
    *("git-doc", "libgtk-3-doc", "python3.11-doc", "python-django-doc", "sqlite3-doc"),
    *("apache2-doc", "postgresql-doc-15", "cmake-doc", "python-pandas-doc", "rust-doc"),
)
START_PAGE = "start-of-all.html"
PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+~-]+\.html")


class DocumentationSite(NamedTuple):
    """One tree, served as one site."""

    package: str
    root: Path
    pages: tuple[str, ...]  # paths below the root, the start page among them


def documentation_sites(cache: Path, pages_max: int) -> list[DocumentationSite]:
    """Whole trees, the smallest first, as long as there are no more than `pages_max` pages in all."""
    trees = [(package, _tree(package, cache)) for package in PACKAGES]
    sites = [_site(package, root, cache / "sites") for package, root in trees]
    sites.sort(key=lambda site: len(site.pages))
    totals = accumulate(len(site.pages) for site in sites)
    chosen = [site for site, total in zip(sites, totals, strict=True) if total <= pages_max]
    if not chosen:
        raise OperatorFault(f"--pages {pages_max}: the smallest tree has {len(sites[0].pages)} pages")
    return chosen


def _tree(package: str, cache: Path) -> Path:
    """The folder of the unpacked package that holds most pages."""
    unpacked = cache / "unpacked" / package
    if not unpacked.is_dir():
        _unpack(package, cache / "downloads", unpacked)
    folders = Counter(_top(path.relative_to(unpacked)) for path in unpacked.rglob("*.html"))
    if not folders:
        raise HostFault(f"{package} holds no HTML pages; is it the package of this Debian release?")
    return unpacked / folders.most_common(1)[0][0]


def _top(path: Path) -> Path:
    """The folder below usr/share/doc (or usr/share/...) that a documentation tree starts in."""
    parts = path.parts[:-1]
    html_at = next((at for at, part in enumerate(parts) if part == "html"), None)
    return Path(*parts[: html_at + 1]) if html_at is not None else Path(*parts[:4])


def _unpack(package: str, downloads: Path, unpacked: Path) -> None:
    downloads.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(["apt-get", "download", "-qq", package], cwd=downloads, check=True)
        archive = next(downloads.glob(f"{package}_*.deb"))
        partial = unpacked.with_name(unpacked.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "-x", archive, partial], check=True)
    except (OSError, subprocess.CalledProcessError, StopIteration) as error:
        raise HostFault(
            f"cannot get the package {package} ({error}); this benchmark needs Debian's apt-get and "
            "dpkg-deb, and perhaps 'apt-get update' first"
        ) from error
    partial.rename(unpacked)


def _pages_below(root: Path) -> list[str]:
    """Paths of real files under plain names, so that all contestants spell them alike."""
    found = (path for path in root.rglob("*.html") if path.is_file() and not path.is_symlink())
    paths = (path.relative_to(root).as_posix() for path in found)
    return sorted(path for path in paths if PLAIN_PATH.fullmatch(path))


def _site(package: str, root: Path, folder: Path) -> DocumentationSite:
    """All pages of a tree, linked into one folder beside a start page."""
    pages = _pages_below(root)
    site_root = folder / package
    if not (site_root / START_PAGE).exists():
        for page in pages:
            copy = site_root / page
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists():
                copy.hardlink_to(root / page)
        links = "".join(
            f'<a href="/{urllib.parse.quote(page)}">{html.escape(page)}</a>\n' for page in pages
        )
        (site_root / START_PAGE).write_text(f"<title>{package}</title>\n{links}", encoding="utf-8")
    return DocumentationSite(package, site_root, (START_PAGE, *pages))

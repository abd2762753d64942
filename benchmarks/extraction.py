"""How many pages per second does one core turn into title, text, links and fingerprints, and what else could?

Needs IPMICRA_DOCS, a folder with one folder of HTML files per site (`apt-get download git-doc` and
`dpkg-deb -x` make one), or IPMICRA_DATA, a folder with pages/html.tar.xz and pages/urls.json; both if there.
IPMICRA_PAGES bounds how many pages of a site are taken (default 300). Rivals are given less to do: they
find the title, the hrefs as written and the text.
"""

from __future__ import annotations

import json
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ipmicra.crawler.extraction import extract
from ipmicra.crawler.extraction.links import folder_of
from ipmicra.crawler.extraction.markup import READERS, read

Material = list[tuple[str, bytes]]  # address, body


def material() -> dict[str, Material]:
    """The page sets that the environment names."""
    sets = {}
    if docs := os.environ.get("IPMICRA_DOCS"):
        sets["documentation"] = [page for site in sorted(Path(docs).iterdir()) for page in _site(site)]
    if data := os.environ.get("IPMICRA_DATA"):
        sets["real pages"] = list(_real_pages(Path(data) / "pages"))
    if not sets:
        print("set IPMICRA_DOCS or IPMICRA_DATA: see the head of benchmarks/extraction.py")
    return sets


def _site(folder: Path) -> Iterator[tuple[str, bytes]]:
    files = sorted(path for path in folder.rglob("*.html") if path.is_file() and not path.is_symlink())
    taken = int(os.environ.get("IPMICRA_PAGES", "300"))
    every = max(1, len(files) // taken)
    for path in files[::every][:taken]:
        yield f"http://{folder.name}.example/{path.relative_to(folder)}", path.read_bytes()


def _real_pages(folder: Path) -> Iterator[tuple[str, bytes]]:
    addresses = json.loads((folder / "urls.json").read_text())
    with tarfile.open(folder / "html.tar.xz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None and Path(member.name).name in addresses:
                yield addresses[Path(member.name).name], file.read()


def _ours(address: str, body: bytes) -> object:
    return extract(body, "text/html", address)


def _reader(name: str) -> Callable[[str, bytes], object]:
    """One reader of markup alone: no joining of odd links, no dates, language or fingerprints."""

    def run(address: str, body: bytes) -> object:
        if name not in READERS:
            raise ImportError("not built: see tools/build-reader")
        return read(body, folder_of(address), READERS[name])

    return run


def _turbohtml(address: str, body: bytes) -> object:
    import turbohtml

    document = turbohtml.parse(body, positions=False)
    return document.find("title"), [a.attr("href") for a in document.select("a")], document.to_text()


def _selectolax(address: str, body: bytes) -> object:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(body)
    links = [node.attributes.get("href") for node in tree.css("a[href]")]
    return tree.css_first("title"), links, tree.body.text(separator="\n") if tree.body else ""


def _lxml(address: str, body: bytes) -> object:
    from lxml import html

    tree = html.document_fromstring(body)
    return tree.findtext(".//title"), tree.xpath("//a/@href"), tree.text_content()


def _resiliparse(address: str, body: bytes) -> object:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse_from_bytes(body)
    links = [node["href"] for node in tree.body.query_selector_all("a[href]")]
    return tree.title, links, extract_plain_text(tree, preserve_formatting=True)


def _bare_parse(address: str, body: bytes) -> object:
    import turbohtml

    return turbohtml.parse(body, positions=False)


CONTESTANTS: dict[str, Callable[[str, bytes], object]] = {
    "ipmicra, everything": _ours,
    "ipmicra, the compiled reader alone": _reader("compiled"),
    "ipmicra, the tree's reader alone": _reader("tree"),
    "turbohtml, parsing alone": _bare_parse,
    "turbohtml, title + hrefs + text": _turbohtml,
    "selectolax, title + hrefs + text": _selectolax,
    "resiliparse, title + hrefs + text": _resiliparse,
    "lxml, title + hrefs + text": _lxml,
}


def main() -> None:
    for name, pages in material().items():
        size = sum(len(body) for _, body in pages)
        print(f"{name}: {len(pages)} pages of {size // len(pages):,} bytes, pages per CPU-second")
        for contestant, run in CONTESTANTS.items():
            try:
                print(f"  {contestant:36} {_pages_per_second(run, pages):8,.0f}")
            except ImportError as missing:
                print(f"  {contestant:36} {missing}")


def _pages_per_second(run: Callable[[str, bytes], object], pages: Material) -> float:
    run(*pages[0])
    start = time.process_time()
    for address, body in pages:
        try:
            run(address, body)
        except (ValueError, AttributeError, KeyError):
            continue  # a rival that stumbles over a page has done its work on it
    return len(pages) / (time.process_time() - start)

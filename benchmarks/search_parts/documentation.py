"""Documentation trees -> pages to index, and judged questions of many kinds.

Questions of five kinds are made from the pages (title, heading, anchor, code, typo), the others are
written by hand in judged_questions.toml; of these, questions in plain words and in code are asked with the
name of the site before them, as people do in an engine for many sites. A question that several pages could
answer is not asked. Questions from links come from pages that are not indexed, so no answer rests on the
link that asks."""

from __future__ import annotations

import gzip
import os
import random
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ipmicra.crawler.extraction import Page, extract
from ipmicra.search.ranking.page_names import title_parts

TUNING = ("python", "git", "apache", "sqlalchemy", "gnuplot")
TEST = ("postgresql", "sqlite", "django", "handbook", "erlang", "debian-reference")
WORDS_MIN = 20  # a page with fewer only forwards to another
LEFT_OUT_SHARE = 0.1  # of the pages of a site: they ask by their links
LANGUAGES = ("en", "de", "fr", "ko", "en-US", "de-DE", "fr-FR", "es-ES", "ja-JP", "ru-RU", "zh-CN")
MADE_MAX = 20  # questions of one kind and site that are made from pages
_HERE = Path(__file__).parent
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)+(?:\(\))?|\w+_\w+(?:\(\))?")


class JudgedQuestion(NamedTuple):
    text: str
    site: str
    kind: str
    urls: frozenset[str]  # each of them is right


class Documentation(NamedTuple):
    pages: list[Page]
    questions: list[JudgedQuestion]


def documentation(seed: int = 5) -> Documentation:
    """The pages in the folders of IPMICRA_DOCS, one folder per site."""
    folder = Path(os.environ["IPMICRA_DOCS"])
    pages: list[Page] = []
    asking: list[Page] = []
    questions: list[JudgedQuestion] = []
    for site in (*TUNING, *TEST):
        if (folder / site).is_dir():
            found = list(_pages(folder / site, site))
            kept, left_out = _divided(found, random.Random(f"{seed} {site}"))
            pages += kept
            asking += left_out
            questions += _written(site, {page.url for page in kept})
    questions += _made(pages, asking, random.Random(seed))
    return Documentation(pages, questions)


def address(site: str, path: str) -> str:
    return f"http://{site}.example/{path}"


def _pages(folder: Path, site: str) -> Iterator[Page]:
    most = int(os.environ.get("IPMICRA_PAGES", "1500"))
    files = sorted(path for path in folder.rglob("*.html*") if path.is_file() and _is_page(path))
    wanted = [path for path in files if path.name != "search.html"]
    wanted.sort(key=lambda path: "/en/" not in str(path))  # the original before its copies
    every = max(1, len(wanted) // most)
    known: set[bytes] = set()
    for path in wanted[::every]:
        body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        name = str(path.relative_to(folder)).removesuffix(".gz")
        page = extract(body, "text/html", address(site, name))
        if len(page.text.split()) >= WORDS_MIN and page.content_hash not in known:
            known.add(page.content_hash)
            yield page


def _is_page(path: Path) -> bool:
    """Translations that are not finished repeat the English text: those are left out."""
    other = re.search(r"/(?:manual|apache|handbook|html)/([a-z]{2}(?:-[A-Za-z]{2})?)/", str(path))
    return path.name.endswith((".html", ".html.gz")) and (other is None or other[1] in LANGUAGES)


def _divided(pages: list[Page], dice: random.Random) -> tuple[list[Page], list[Page]]:
    written = {url for one in _written_urls() for url in one}
    kept: list[Page] = []
    asking: list[Page] = []
    for page in pages:
        is_out = dice.random() < LEFT_OUT_SHARE and page.url not in written
        (asking if is_out else kept).append(page)
    return kept, asking


def _made(kept: list[Page], asking: list[Page], dice: random.Random) -> Iterator[JudgedQuestion]:
    """A text that leads to several pages, of whichever site, asks nothing."""
    known = {page.url for page in kept}
    everywhere = [(link.text, link.url) for page in (*kept, *asking) for link in page.links]
    titles = [(title_parts(page.title)[0], page.url) for page in kept if page.title]
    headings = [
        (re.sub(r"[¶\s]+", " ", text).strip(), page.url)
        for page in kept
        for text in page.headings[1:]
        if 2 <= len(text.split()) <= 8
    ]
    linked = [
        (link.text, link.url)
        for page in asking
        for link in page.links
        if link.url in known and link.text
    ]
    anchors = [(text, url) for text, url in linked if 2 <= len(text.split()) <= 8]
    code = [(text, url) for text, url in linked if _IDENTIFIER.fullmatch(text)]
    named = [*titles, *headings]
    yield from _sample("title", titles, named, dice)
    yield from _sample("heading", headings, named, dice)
    yield from _sample("anchor", anchors, [*everywhere, *named], dice)
    yield from _sample("code", code, [*everywhere, *named], dice)
    misspelt = [(_misspelt(text, dice), url) for text, url in _clear(titles, named)]
    yield from _sample("typo", misspelt, [], dice)


def _clear(texts: Iterable[tuple[str, str]], others: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that lead to one page, also where the others use them."""
    answers: dict[str, set[str]] = {}
    for text, url in (*texts, *others):
        answers.setdefault(_folded(text), set()).add(url)
    clear = {(text, url) for text, url in texts if len(answers[_folded(text)]) == 1}
    return sorted((text, url) for text, url in clear if len(re.findall(r"\w", text)) > 3)


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _sample(
    kind: str,
    texts: list[tuple[str, str]],
    others: list[tuple[str, str]],
    dice: random.Random,
) -> Iterator[JudgedQuestion]:
    by_site: dict[str, list[tuple[str, str]]] = {}
    for text, url in _clear(texts, others):
        by_site.setdefault(url.split("/")[2].partition(".")[0], []).append((text, url))
    for site, clear in sorted(by_site.items()):
        for text, url in dice.sample(clear, min(MADE_MAX, len(clear))):
            yield JudgedQuestion(text, site, kind, frozenset([url]))


def _misspelt(text: str, dice: random.Random) -> str:
    """Two neighbouring letters of the longest word swapped; "" where no word is long enough."""
    word = max(re.findall(r"[A-Za-z]+", text), key=len, default="")
    if len(word) < 7:
        return ""
    at = dice.randrange(1, len(word) - 2)
    if word[at] == word[at + 1]:
        return ""
    return text.replace(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :], 1)


def _written(site: str, known: set[str]) -> Iterator[JudgedQuestion]:
    for kind, questions in _table().get(site, {}).items():
        for text, paths in questions.items():
            urls = frozenset(address(site, path) for path in paths)
            named = kind not in ("paraphrase", "code") or site in (*text.split(), "handbook")
            if urls & known:
                yield JudgedQuestion(text if named else f"{site} {text}", site, kind, urls)
            else:
                print(f"no page of {site} answers {text!r}: {paths}")


def _written_urls() -> Iterator[set[str]]:
    for site, kinds in _table().items():
        for questions in kinds.values():
            for paths in questions.values():
                yield {address(site, path) for path in paths}


def _table() -> dict[str, dict[str, dict[str, list[str]]]]:
    return tomllib.loads((_HERE / "judged_questions.toml").read_text(encoding="utf-8"))

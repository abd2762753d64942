"""A page and the texts of links to it -> everything that it is called, in one normal form.

Invariant: pure. The normal form of a text is the stems of its words in the page's language, in order. A
question gets the same form, so the two can be compared word by word. Section numbers, anchor marks and the
name of a site behind a dash are not part of what a page is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from ipmicra.model.page import Page
from ipmicra.search.keys import site_name_of

# kinds of names
TITLE = "t"  # the title's own part first, then longer ones
HEADING = "h"
ANCHOR = "a"  # texts of links to the page
SLUG = "u"  # the last word of the address
PATH = "p"  # all words of the address
DEFINED = "d"  # a name in code that the page explains, as written, in lower case
SITE = "s"  # a stem that names its site: of its host name and of the last part of its title

HEADINGS_MAX = 60
ANCHORS_MAX = 12
DEFINED_MAX = 400
WORDS_MAX = 14  # of one name: longer ones are sentences
_SEPARATOR = re.compile(
    r"\s{1,9}[-\u2010-\u2015|·•»«:]{1,4}\s{1,9}|\s{0,9}[|»«\u2014]\s{0,9}|::?\s{1,9}"
)
_NUMBERING = re.compile(
    r"\s{0,9}(?:(?:chapter|appendix|part|section|kapitel|chapitre|§)\s{1,9})?(?:[A-Z]\.)?"
    r"(?:\d{1,9}[.\-]){0,9}\d{0,9}\.?\s{1,9}(?=\S)",
    re.IGNORECASE,
)
_MARKS = re.compile("[¶§#\uf0c1]{1,9}\\s{0,9}$|\\(\\d[a-z]?\\)(?: Manual Page)?$")  # and git-log(1)
_PATH_WORDS = re.compile(r"[^\W_]+")
_INDEX_PAGES = ("index", "default", "home", "main", "readme", "toc", "contents")
_DEFINITION = re.compile(
    r"(?:(?:class|def|function|fn|func|static|async|exception|coroutine|abstract|classmethod|property|method|"
    r"void|int|pub|public|macro|procedure)\s{1,3}){0,4}"
    r"([A-Za-z_@]\w{0,80}(?:(?:\.|::)\w{1,80}){0,9})\s{0,3}(?:\(|¶|=|$)"
)
_IS_DEFINITION = re.compile(r"¶\s{0,3}$|->|^(?:class|def|function|fn|func|macro|procedure)\s")
_IDENTIFIER = re.compile(
    r"[A-Za-z_]\w{0,80}(?:(?:\.|::)\w{1,80}){1,9}|\w{0,80}_\w{1,80}|[A-Za-z_]\w{0,80}(?=\(\))"
)
_NAME_CHARACTERS_MAX = 200  # of a title, a heading or a line that are looked at

Stems = Callable[[str], list[str]]


class PageNames(NamedTuple):
    """What ranking knows of a page besides its text.

    `lines` has a line for each name: its kind, then its stems, with one blank before and after each, so that
    one search through the lines of many pages finds a stem as a whole word.
    """

    stemmer: str
    words: int  # of the text
    link_share: float  # of the text that is inside links
    is_root: bool  # the first page of its site
    lines: str

    def terms(self) -> list[str]:
        """The whole names as terms of the index, with what kind of name each is."""
        kinds = (TITLE, HEADING, ANCHOR, SLUG, DEFINED)
        lines = [line for line in self.lines.split("\n") if line[:1] in kinds]
        return [*dict.fromkeys(f"{line[0]}|{line[2:-1]}" for line in lines)]


def lines_of(names: Iterable[tuple[str, str]]) -> str:
    """Kinds and names -> the lines that `PageNames` has of them."""
    return "".join([f"\n{kind} {name} " for kind, name in names if name]) + "\n"


def names_of_page(page: Page, anchors: Sequence[str], stemmer: str, stems: Stems) -> PageNames:
    path = unquote(page.url.partition("//")[2].partition("/")[2].partition("?")[0])
    components = [part for part in path.split("/") if part]
    if components:
        components[-1] = components[-1].rpartition(".")[0] or components[-1]
    if components and components[-1].partition(".")[0].lower() in _INDEX_PAGES:
        components.pop()
    is_root = not components
    site = site_name_of(page.url)
    last = components[-1] if components else _main_label(site)

    def normal(text: str) -> str:
        return " ".join(stems(text)[:WORDS_MAX])

    linked = sum(len(link.text) for link in page.links)
    words_of_site = stems(f"{_main_label(site)} {site_part(page.title)}")
    names = {
        TITLE: _unique(normal(text) for text in title_parts(page.title)),
        HEADING: _unique(normal(clean_heading(text)) for text in page.headings[:HEADINGS_MAX]),
        ANCHOR: _unique(normal(clean_heading(text)) for text in anchors[:ANCHORS_MAX]),
        SLUG: [normal(" ".join(_PATH_WORDS.findall(last)))],
        PATH: [" ".join(stems(" ".join(_PATH_WORDS.findall(" ".join(components))))[-WORDS_MAX:])],
        DEFINED: _defined(page),
        SITE: _unique(one for one in words_of_site if not one[0].isdigit()),
    }
    return PageNames(
        stemmer=stemmer,
        words=len(page.text) // 6,
        link_share=min(1.0, linked / (len(page.text) + 1)),
        is_root=is_root,
        lines=lines_of((kind, name) for kind, several in names.items() for name in several),
    )


def title_parts(title: str) -> list[str]:
    """`json — JSON encoder — Python docs` -> json; json JSON encoder; all of it; JSON encoder."""
    clean = clean_heading(title)
    parts = [clean_heading(part) for part in _SEPARATOR.split(clean) if part.strip()]
    longer = [" ".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return [*longer, *parts[1:2], clean]


def site_part(title: str) -> str:
    """The part after the last dash: mostly the name of the site."""
    parts = _SEPARATOR.split(title[:_NAME_CHARACTERS_MAX])
    return parts[-1] if len(parts) > 1 else ""


def clean_heading(text: str) -> str:
    """Without the number before it and the mark of an anchor behind it."""
    bare = _MARKS.sub("", text[:_NAME_CHARACTERS_MAX]).strip()
    number = _NUMBERING.match(bare)
    return (bare[number.end() :] if number else bare) or bare


def _main_label(site: str) -> str:
    labels = [label for label in site.split(".") if label not in ("www", "docs", "doc")]
    return labels[-2] if len(labels) > 1 else site


def _defined(page: Page) -> list[str]:
    """Names in the title and headings, and of definitions in the text."""
    found: dict[str, None] = {}
    for text in (page.title, *page.headings[:HEADINGS_MAX]):
        found.update(dict.fromkeys(_IDENTIFIER.findall(text[:_NAME_CHARACTERS_MAX])))
    for line in page.text.split("\n"):
        if len(found) >= DEFINED_MAX:
            break
        if len(line) > 2 * _NAME_CHARACTERS_MAX or ("¶" not in line and "(" not in line):
            continue
        if _IS_DEFINITION.search(line) and (match := _DEFINITION.match(line)):
            found[match[1]] = None
    whole = [name.lower() for name in found]
    last = [name.replace("::", ".").rpartition(".")[2] for name in whole]
    return [*dict.fromkeys([*whole, *last])][: 2 * DEFINED_MAX]


def _unique(names: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(name for name in names if name)]

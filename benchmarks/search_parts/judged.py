"""Real pages -> pages to index, and questions whose one right answer is known.

Known items: the words of a page's title must find that page, and so must three of them, drawn at random, as
someone remembers them, and five words that follow each other in its text; what a link says must find its
target. A quarter of the pages that stand together in a site is left out of the index, and questions from
links are theirs, so no answer rests on the link that asks. A text that leads to several pages asks nothing.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.extraction import material
from ipmicra.crawler.extraction import Page, extract
from ipmicra.search.keys import site_name_of

QUESTIONS_MAX = 400  # of one kind
PAGES_OF_A_SITE_MIN = 4  # of which one may be left out
_WORDS_MAX = 6


class Judged(NamedTuple):
    question: str
    url: str
    kind: str

    @property
    def site(self) -> str:
        return site_name_of(self.url)


class JudgedSet(NamedTuple):
    indexed: list[Page]
    questions: list[Judged]


def judged_set(seed: int = 7) -> JudgedSet:
    """From the page sets that the environment names."""
    dice = random.Random(seed)
    indexed: list[Page] = []
    questions: list[Judged] = []
    for name, pages in material().items():
        found = [extract(body, "text/html", address) for address, body in pages]
        left_out, kept = _divided(found, dice)
        indexed += kept
        questions += _sample(_from_titles(kept, f"titles, {name}"), dice)
        questions += _sample(_from_memory(kept, f"some of titles, {name}", dice), dice)
        questions += _sample(_from_texts(kept, f"words of texts, {name}", dice), dice)
        questions += _sample(_from_links(left_out, kept, f"links, {name}"), dice)
    return JudgedSet(indexed, questions)


def _divided(pages: list[Page], dice: random.Random) -> tuple[list[Page], list[Page]]:
    """Those that ask by their links, and those that are indexed."""
    of_site = Counter(site_name_of(page.url) for page in pages)
    left_out: list[Page] = []
    kept: list[Page] = []
    for page in pages:
        may_ask = of_site[site_name_of(page.url)] >= PAGES_OF_A_SITE_MIN
        (left_out if may_ask and dice.random() < 0.25 else kept).append(page)
    return left_out, kept


def _from_titles(pages: list[Page], kind: str) -> list[Judged]:
    texts = ((_words(_own_title(page)), page.url) for page in pages)
    return _with_one_answer(texts, kind)


def _from_memory(pages: list[Page], kind: str, dice: random.Random) -> list[Judged]:
    words = ((re.findall(r"\w{3,}", _own_title(page)), page.url) for page in pages)
    texts = ((" ".join(dice.sample(some, 3)), url) for some, url in words if len(some) > 3)
    return _with_one_answer(texts, kind)


def _from_texts(pages: list[Page], kind: str, dice: random.Random) -> list[Judged]:
    texts = []
    for page in pages:
        words = re.findall(r"\w+", page.text)
        if len(words) > 50:
            at = dice.randrange(len(words) - 5)
            texts.append((" ".join(words[at : at + 5]), page.url))
    return _with_one_answer(texts, kind)


def _own_title(page: Page) -> str:
    """Without the site's name behind a dash."""
    return re.split(r" [|–—-] ", page.title)[0]


def _from_links(sources: list[Page], pages: list[Page], kind: str) -> list[Judged]:
    known = {page.url for page in pages}
    texts = (
        (_words(link.text), link.url)
        for page in sources
        for link in page.links
        if link.url in known and len(link.text.split()) >= 2
    )
    return _with_one_answer(texts, kind)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text)[:_WORDS_MAX])


def _with_one_answer(texts: Iterable[tuple[str, str]], kind: str) -> list[Judged]:
    answers: dict[str, set[str]] = {}
    for text, url in texts:
        answers.setdefault(text.lower(), set()).add(url)
    return [
        Judged(text, url, kind)
        for text, urls in sorted(answers.items())
        if text and len(urls) == 1
        for url in urls
    ]


def _sample(judged: list[Judged], dice: random.Random) -> list[Judged]:
    return dice.sample(judged, min(len(judged), QUESTIONS_MAX))

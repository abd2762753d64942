"""Lines of real pages -> any number of generated pages, and plausible queries for them.

A generated page is a few stretches of lines from pages of one site, so its words keep the company they
keep in real text. A real web has more words the larger it is (Heaps), and a few thousand source pages do
not: so one word in 25 is replaced by one from an endless generated lexicon, the n-th as frequent as 1/n.
Everything is drawn from one seed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.extraction import material
from ipmicra.crawler.extraction import extract
from ipmicra.model.page import Link, Page

WORDS_OF_A_PAGE = 250
SITES = 997
BATCH = 10_000
_TAIL_SHARE = 1 / 25
_TAIL_WORDS = 3_000_000
_LETTERS = "etaoinshrdlucmfwypvbg"
_decode = msgspec.msgpack.Decoder(list[Page]).decode


class Corpus:
    """Made-up pages by number: the same number is the same page."""

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed
        self._sources = _lines_by_source() or _lines_of_no_source(random.Random(seed))

    def page(self, number: int) -> Page:
        dice = random.Random(self._seed * 1_000_003 + number)
        lines, language = self._lines(dice)
        text = "\n".join(lines)
        title = " ".join(dice.choice(lines).split()[:7])
        neighbour = f"http://s{int(SITES * dice.random() ** 3)}.example/"
        return Page(
            url=f"http://s{number % SITES}.example/{number // SITES}/{title.split()[0].lower()}.html",
            title=title, headings=[dice.choice(lines)[:80] for _ in range(2)], text=text,
            links=[Link(neighbour, title, "")], language=language,
        )  # fmt: skip

    def batches(self, count: int, kept: Path | None) -> Iterator[list[Page]]:
        """The first `count` pages; what was made before is in `kept`: making costs as much as indexing."""
        for start in range(0, count, BATCH):
            numbers = range(start, min(start + BATCH, count))
            path = kept and kept / f"{start // BATCH}.mp"
            if path and path.exists():
                yield _decode(path.read_bytes())[: len(numbers)]
                continue
            pages = [self.page(number) for number in numbers]
            if path and len(pages) == BATCH:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(msgspec.msgpack.encode(pages))
            yield pages

    def repeated(self, questions: list[str], count: int) -> list[str]:
        """As people ask: the n-th question as often as 1/n."""
        dice = random.Random(self._seed)
        return [questions[int(len(questions) ** dice.random()) - 1] for _ in range(count)]

    def questions(self, count: int, pages: int) -> list[str]:
        """One to three words of a page that exists, no question twice."""
        dice = random.Random(self._seed)
        asked: dict[str, None] = {}
        while len(asked) < count:
            page = self.page(dice.randrange(pages))
            words = re.findall(r"\w{4,}", f"{page.title} {dice.choice(page.text.splitlines())}")
            if words:
                wanted = dice.sample(words, min(len(words), dice.choice((1, 2, 2, 3))))
                asked[" ".join(wanted).lower()] = None
        return list(asked)

    def _lines(self, dice: random.Random) -> tuple[list[str], str]:
        lines, language = dice.choice(self._sources)
        taken: list[str] = []
        words = 0
        while words < WORDS_OF_A_PAGE:
            at = dice.randrange(len(lines))
            for line in lines[at : at + 6]:
                taken.append(_with_rare_words(line, dice))
                words += line.count(" ") + 1
        return taken, language


def _with_rare_words(line: str, dice: random.Random) -> str:
    words = line.split()
    for at in range(int(len(words) * _TAIL_SHARE + dice.random())):
        words[dice.randrange(len(words)) if at else -1] = _rare_word(dice)
    return " ".join(words)


def _rare_word(dice: random.Random) -> str:
    rank = int(_TAIL_WORDS ** dice.random())
    spelled = random.Random(rank)
    return "".join(spelled.choices(_LETTERS, k=spelled.randint(4, 10)))


def _lines_by_source() -> list[tuple[list[str], str]]:
    """The lines of each page that has enough of them, with its language."""
    sources = []
    for pages in material().values():
        for address, body in pages:
            page = extract(body, "text/html", address)
            lines = [line for line in page.text.splitlines() if 3 <= line.count(" ") <= 80]
            if len(lines) >= 10:
                sources.append((lines, page.language))
    return sources


def _lines_of_no_source(dice: random.Random) -> list[tuple[list[str], str]]:
    def line() -> str:
        return " ".join(_rare_word(dice) for _ in range(12))

    return [([line() for _ in range(60)], "en") for _ in range(1_000)]

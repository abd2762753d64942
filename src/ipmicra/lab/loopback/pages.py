"""A seed -> sites with pages of prose that link to each other, always the same ones.

Each page has words of its own topic and city, so that a search can distinguish pages; the link graph is
a tree of sections with links across, and every site knows a few other sites.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from random import Random

TOPICS: dict[str, tuple[str, ...]] = {
    "bakery": ("bread", "oven", "flour", "crust", "yeast", "rye", "dough", "baker", "loaf", "butter"),
    "harbour": (
        "ship",
        "crane",
        "tide",
        "anchor",
        "cargo",
        "pilot",
        "dock",
        "lighthouse",
        "rope",
        "sail",
    ),
    "garden": ("soil", "seed", "orchard", "rose", "compost", "spade", "herb", "fern", "pond", "bee"),
    "clock": (
        "pendulum",
        "spring",
        "gear",
        "dial",
        "chime",
        "escapement",
        "hour",
        "brass",
        "repair",
        "tick",
    ),
    "railway": (
        "signal",
        "track",
        "station",
        "timetable",
        "engine",
        "bridge",
        "tunnel",
        "sleeper",
        "platform",
        "whistle",
    ),
    "weather": (
        "storm",
        "cloud",
        "barometer",
        "frost",
        "rainfall",
        "wind",
        "thunder",
        "drought",
        "fog",
        "forecast",
    ),
    "library": (
        "shelf",
        "manuscript",
        "catalogue",
        "binding",
        "reader",
        "archive",
        "index",
        "paper",
        "folio",
        "author",
    ),
    "mountain": (
        "ridge",
        "glacier",
        "summit",
        "hut",
        "trail",
        "avalanche",
        "valley",
        "granite",
        "climber",
        "meadow",
    ),
}
CITIES = (
    "Lima", "Nairobi", "Oslo", "Osaka", "Auckland", "Toronto", "Nicosia", "Mumbai", "Lisbon", "Austin",
    "Accra", "Krakow",
)  # fmt: skip
PARAGRAPHS = 4
PARAGRAPH_BYTES = 345  # about
GLUE = ("the", "a", "of", "near", "with", "under", "after", "and", "before", "beside", "every", "no")


@dataclass(frozen=True)
class MadePage:
    """One page: where it lies in its site, and its HTML."""

    path: str
    html: str


@dataclass
class MadeSite:
    """A site: its name, its city, and its pages by path."""

    name: str
    city: str
    topic: str
    pages: dict[str, MadePage] = field(default_factory=dict)


def made_sites(seed: int, sites: int, pages: int, port: int = 80) -> list[MadeSite]:
    """`sites` sites of about `pages` pages each."""
    topics = sorted(TOPICS)
    made = [
        MadeSite(f"{topics[i % len(topics)]}{i}.{CITIES[i % len(CITIES)].lower()}.example",
                 CITIES[i % len(CITIES)], topics[i % len(topics)])
        for i in range(sites)
    ]  # fmt: skip
    for number, site in enumerate(made):
        fill(site, number, made, seed, pages, port)
    return made


def fill(
    site: MadeSite,
    number: int,
    all_sites: list[MadeSite],
    seed: int,
    pages: int,
    port: int = 80,
    paragraphs: int = PARAGRAPHS,
) -> None:
    """Give a site its pages; a paragraph has some 345 bytes."""
    dice = Random(f"{seed}/{number}")  # noqa: S311 - pages are not secret
    friends = dice.sample(all_sites, min(3, len(all_sites)))
    for page in range(pages):
        site.pages[_path(page)] = _page(site, page, pages, friends, port, dice, paragraphs)


def _path(page: int) -> str:
    return "/" if page == 0 else f"/{('news', 'works', 'people')[page % 3]}/{page}.html"


def _page(
    site: MadeSite,
    page: int,
    pages: int,
    friends: list[MadeSite],
    port: int,
    dice: Random,
    paragraph_count: int,
) -> MadePage:
    words = TOPICS[site.topic]
    title = f"{site.topic.capitalize()} of {site.city}: {words[page % len(words)]} {page}"
    inside = [child for child in (2 * page + 1, 2 * page + 2, dice.randrange(pages)) if child < pages]
    links = [f'<a href="{_path(child)}">{words[child % len(words)]} {child}</a>' for child in inside]
    authority = "" if port == 80 else f":{port}"
    if page % 5 == 0:
        links += [
            f'<a href="http://{friend.name}{authority}/">the {friend.topic} of {friend.city}</a>'
            for friend in friends
            if friend is not site
        ]
    paragraphs = "".join(f"<p>{_sentences(words, dice)}</p>" for _ in range(paragraph_count))
    menu = "".join(f"<li>{link}</li>" for link in links)
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="description" content="{escape(title)}, told by those who know it."></head>'
        f"<body><h1>{escape(title)}</h1><ul>{menu}</ul>{paragraphs}</body></html>"
    )
    return MadePage(_path(page), html)


def _sentences(words: tuple[str, ...], dice: Random) -> str:
    sentences = []
    for _ in range(dice.randint(4, 8)):
        length = dice.randint(6, 14)
        said = [dice.choice(words if i % 2 else GLUE) for i in range(length)]
        sentences.append(" ".join(said).capitalize() + ".")
    return " ".join(sentences)

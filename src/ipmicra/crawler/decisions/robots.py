"""robots.txt -> the URLs that a crawler with our name may fetch there, by RFC 9309.

`parse_robots` reads the file as leniently as section 2.2 and the larger engines do; `Robots.allows` is
the longest match of section 2.2.2. The meaning of any other response (section 2.3.1) is
`verdict_on_status`. Invariant: no setting makes this code ignore a rule.

Written here rather than taken from a library: Python 3.11's `urllib.robotparser` takes the first match
instead of the longest, knows no `*` or `$` and leaves out the second of two groups for one agent;
Protego 0.7 does all that, but takes a group for `foo` to be meant for `foobot`. The RFC's own list of
cases is in tests/crawler/decisions/test_robots.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from urllib.parse import quote

ROBOTS_BYTES_MAX = 500 * 1024  # RFC 9309, 2.5: at least 500 KiB are parsed; the rest is dropped
RULES_MAX = (
    10_000  # for us; the site of a longer list is not crawled: each URL is held against all of them
)
MATCHING_WORK_MAX = 16_000_000  # characters of rules with stars times characters of a path: some 30 ms
SITEMAPS_MAX = 1_000
REDIRECTS_MAX = 5  # 2.3.1.2
CACHE_SECONDS_MAX = 24 * 3600  # 2.4


class Rule(NamedTuple):
    allow: bool
    path: str


class _Matcher:
    """One rule's path: `*` is any run of characters, a final `$` the end; meant as such, both are escaped.

    Pieces between stars are looked for from left to right, each at its first place, so a hostile file
    costs at most `starred_length` times a path's length; a regular expression would backtrack without end.
    """

    __slots__ = ("_anchored", "_first", "_last", "_middle", "starred_length")

    def __init__(self, path: str) -> None:
        self._anchored = path.endswith("$")
        first, *others = re.split(r"\*+", (path[:-1] if self._anchored else path).replace("$", "%24"))
        self._first = first
        self._last = others.pop() if others and self._anchored else None
        self._middle = others
        self.starred_length = sum(len(piece) + 1 for piece in others)

    def matches(self, path: str) -> bool:
        if not path.startswith(self._first):
            return False
        position = len(self._first)
        for piece in self._middle:
            found = path.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        if self._last is not None:
            return path.endswith(self._last) and len(path) - len(self._last) >= position
        return not self._anchored or position == len(path)


@dataclass(frozen=True)
class Robots:
    """The rules of one site for our user agent."""

    rules: tuple[Rule, ...] = ()
    crawl_delay_seconds: float | None = None
    sitemaps: tuple[str, ...] = ()
    _matchers: list[tuple[bool, _Matcher]] = field(init=False, repr=False, compare=False)
    _starred_length: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ordered = sorted(self.rules, key=lambda rule: (-len(rule.path), not rule.allow))
        matchers = [(rule.allow, _Matcher(rule.path)) for rule in ordered]
        object.__setattr__(self, "_matchers", matchers)
        object.__setattr__(
            self, "_starred_length", sum(matcher.starred_length for _, matcher in matchers)
        )

    def allows(self, path: str) -> bool:
        """Whether path and query may be fetched: the longest rule decides, Allow among equals.

        A path that would take too long to compare is not fetched.
        """
        if not self._matchers or path.partition("?")[0] == "/robots.txt":
            return True
        path = _encoded(path).replace("*", "%2A").replace("$", "%24")
        if self._starred_length * len(path) > MATCHING_WORK_MAX:
            return False
        return next((allow for allow, matcher in self._matchers if matcher.matches(path)), True)


ALLOW_ALL = Robots()
DISALLOW_ALL = Robots((Rule(False, "/"),))


class RobotsVerdict(Enum):
    """The meaning of the response to a request for robots.txt (RFC 9309, 2.3.1)."""

    PARSE = "parse the body"
    REDIRECT = "follow"
    ALLOW_ALL = "unavailable: everything may be fetched"
    DISALLOW_ALL = "unreachable: nothing may be fetched"


def verdict_on_status(status: int | None, redirects_followed: int = 0) -> RobotsVerdict:
    """The meaning of a status; None is a network error.

    429 counts as a server error here: "slow down" does not mean that everything is allowed, and the
    site's queue is blocked for that time anyway.
    """
    if status is None or status >= 500 or status < 200 or status == 429:
        return RobotsVerdict.DISALLOW_ALL
    if status < 300:
        return RobotsVerdict.PARSE
    if status >= 400:
        return RobotsVerdict.ALLOW_ALL
    return RobotsVerdict.REDIRECT if redirects_followed < REDIRECTS_MAX else RobotsVerdict.ALLOW_ALL


def parse_robots(body: bytes, product: str) -> Robots:
    """The rules for `product`, the token by which robots.txt files know us (2.2.1)."""
    groups, sitemaps = _groups(body[:ROBOTS_BYTES_MAX])
    wanted = product.lower()
    chosen = [group for group in groups if wanted in group.agents] or [
        group for group in groups if "*" in group.agents
    ]
    delays = [group.crawl_delay_seconds for group in chosen if group.crawl_delay_seconds is not None]
    rules = tuple(rule for group in chosen for rule in group.rules)
    if len(rules) > RULES_MAX:
        rules = DISALLOW_ALL.rules
    return Robots(rules, max(delays, default=None), tuple(sitemaps))


class _Group:
    def __init__(self) -> None:
        self.agents: set[str] = set()
        self.rules: list[Rule] = []
        self.crawl_delay_seconds: float | None = None
        self.is_open = True  # still naming agents


_PRODUCT = re.compile(r"[A-Za-z_-]+|\*")


def _groups(body: bytes) -> tuple[list[_Group], list[str]]:
    groups: list[_Group] = []
    sitemaps: list[str] = []
    for line in _lines(body):
        name, _, rest = line.partition("#")[0].partition(":")
        field, value = name.strip().lower(), rest.strip()
        if field in {"user-agent", "useragent", "user agent"}:
            _name_agent(groups, value)
        elif field in {"sitemap", "site-map"}:
            sitemaps += [value] if len(sitemaps) < SITEMAPS_MAX else []
        elif groups:
            _add_rule(groups[-1], field, value)
    return groups, sitemaps


def _lines(body: bytes) -> list[str]:
    """The lines that can be rules: with a colon, not a comment, long enough. Most of a hostile file is
    not.
    """
    text = body.decode("utf-8-sig", errors="surrogateescape").replace("\r", "\n")
    return [line for line in text.split("\n") if len(line) > 5 and ":" in line and line[0] != "#"]


def _name_agent(groups: list[_Group], value: str) -> None:
    if not groups or not groups[-1].is_open:
        groups.append(_Group())
    product = _PRODUCT.match(value)
    if product is not None:
        groups[-1].agents.add(product[0].lower())


def _add_rule(group: _Group, field: str, value: str) -> None:
    if field in {"allow", "disallow"}:
        group.is_open = False
        if value:  # an empty path matches nothing
            group.rules.append(Rule(field == "allow", _encoded(value)))
    elif field == "crawl-delay":
        group.is_open = False
        try:
            seconds = float(value)
        except ValueError:
            return
        if 0 <= seconds < float("inf"):
            group.crawl_delay_seconds = seconds


_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _encoded(path: str) -> str:
    """Section 2.2.2: octets beyond ASCII encoded, escaped unreserved ones decoded, before comparing."""
    if not path.isascii():
        path = quote(path, safe="!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~ ", errors="surrogateescape")
    return _ESCAPE.sub(_normal_escape, path) if "%" in path else path


def _normal_escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()

"""robots.txt as RFC 9309 has it: the RFC's own cases, and what hostile or sloppy files do."""

from __future__ import annotations

import time

import pytest

from ipmicra.crawler.decisions.robots import (
    DISALLOW_ALL,
    ROBOTS_BYTES_MAX,
    Robots,
    RobotsVerdict,
    parse_robots,
    verdict_on_status,
)


def allows(file: str, path: str, product: str = "ipmicra") -> bool:
    return parse_robots(file.encode(), product).allows(path)


RFC_5_1 = """
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

EOF
"""


@pytest.mark.parametrize(
    ("product", "path", "expected"),
    [
        ("ipmicra", "/publications/x", True),
        ("ipmicra", "/example/page.html", False),
        ("ipmicra", "/pictures/a.gif", False),
        ("ipmicra", "/pictures/a.gif?x", True),  # $ is the end
        ("foobot", "/anything", False),
        ("foobot", "/example/page.html", True),
        ("FooBot", "/example/allowed.gif", True),  # product tokens do not heed case
        ("barbot", "/example/page.html", False),
        ("bazbot", "/example/page.html", False),
        ("bazbot", "/example/a.gif", True),
        ("quxbot", "/example/", True),  # a group without rules
    ],
)
def test_simple_example_of_section_5_1(product: str, path: str, expected: bool) -> None:
    assert allows(RFC_5_1, path, product) is expected


def test_longest_match_of_section_5_2() -> None:
    file = "User-Agent: ipmicra\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    assert not allows(file, "/example/page/disallowed.gif")
    assert allows(file, "/example/page/other.gif")


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("Disallow: /\nAllow: /", "/x", True),  # the least restrictive of equals
        ("Allow: /p\nDisallow: /", "/page", True),
        ("Allow: /folder\nDisallow: /folder", "/folder/page", True),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        ("Disallow:", "/x", True),
        ("Disallow: /fish", "/fish.html", False),
        ("Disallow: /fish", "/Fish.asp", True),  # paths heed case
        ("Disallow: /fish*", "/fishheads/yummy.html", False),
        ("Disallow: /fish/", "/fish", True),
        ("Disallow: /fish/", "/fish/?id=any", False),
        ("Disallow: /*.php", "/folder/any.php.file.html", False),
        ("Disallow: /*.php$", "/filename.php?parameters", True),
        ("Disallow: /*.php$", "/filename.php/", True),
        ("Disallow: /*.php$", "/a.php/b.php", False),
        ("Disallow: /fish*.php", "/fishheads/catfish.php?parameters", False),
        ("Disallow: /*/*/deep$", "/a/b/deep", False),
        ("Disallow: /a*b*c$", "/aXbYcZc", False),
        ("Disallow: /", "/robots.txt", True),  # implicitly allowed (2.2.2)
        ("Disallow: /*?", "/x?query", False),
        ("Disallow: /a$b", "/a$b/c", False),  # $ is special at the end only
    ],
)
def test_matching(rules: str, path: str, expected: bool) -> None:
    assert allows(f"User-agent: *\n{rules}", path) is expected


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http://foo.bar"),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
        ("/file-with-a-%2A.html", "/file-with-a-*.html"),  # section 2.2.3
        ("/foo/bar/%24", "/foo/bar/$"),
        ("/foo/bar/$x", "/foo/bar/%24x"),
    ],
)
def test_percent_encoding_of_section_2_2_2(rule: str, path: str) -> None:
    assert not allows(f"User-agent: *\nDisallow: {rule}", path)
    assert allows(f"User-agent: *\nDisallow: {rule}", "/other")


def test_octets_that_are_no_utf_8_are_compared_as_they_are() -> None:
    robots = parse_robots(b"User-agent: *\nDisallow: /caf\xe9", "ipmicra")
    assert not robots.allows("/caf%E9")
    assert robots.allows("/caf%C3%A9")


def test_an_encoded_slash_is_not_a_slash() -> None:
    assert allows("User-agent: *\nDisallow: /a/b", "/a%2Fb")


def test_groups_of_one_name_are_merged() -> None:
    ours = "User-agent: ipmicra\nDisallow:"
    file = f"{ours} /a\n\nUser-agent: x\nDisallow: /\n\n{ours} /b\n"
    assert not allows(file, "/a")
    assert not allows(file, "/b")
    assert allows(file, "/c")


def test_our_own_group_replaces_the_one_for_everybody() -> None:
    assert allows("User-agent: *\nDisallow: /\n\nUser-agent: IPMicra/2.0\nAllow: /\n", "/x")


@pytest.mark.parametrize(
    "file",
    [
        "\ufeffUser-agent: *\nDisallow: /x",
        "User-agent: *\rDisallow: /x",
        "User-agent: *\r\nDisallow: /x # why",
        "  user-agent :  *  \n  DISALLOW :  /x  ",
        "Unknown: 1\nUser-agent: *\nUnknown: 2\nDisallow: /x",
        "Disallow: /before-any-group\nUser-agent: *\n\n\nDisallow: /x",
        "User-agent: *\nSitemap: https://e.org/s.xml\nDisallow: /x",
    ],
)
def test_sloppy_files_are_read(file: str) -> None:
    assert not allows(file, "/x")
    assert allows(file, "/before-any-group")


def test_crawl_delay_and_sitemaps_are_heard() -> None:
    robots = parse_robots(
        b"Sitemap: https://e.org/a.xml\nUser-agent: *\nCrawl-delay: 2.5\nsitemap: /b.xml\n", "ipmicra"
    )
    assert robots.crawl_delay_seconds == 2.5
    assert robots.sitemaps == ("https://e.org/a.xml", "/b.xml")


@pytest.mark.parametrize("value", ["", "soon", "-1", "inf", "nan"])
def test_a_crawl_delay_that_is_no_time_is_ignored(value: str) -> None:
    file = f"User-agent: *\nCrawl-delay: {value}\n".encode()
    assert parse_robots(file, "ipmicra").crawl_delay_seconds is None


def test_what_is_beyond_500_kib_is_not_read() -> None:
    head, last = b"User-agent: *\n#", b"\nDisallow: /a\n"
    read = head + b"#" * (ROBOTS_BYTES_MAX - len(head) - len(last)) + last
    robots = parse_robots(read + b"Disallow: /b\n", "ipmicra")
    assert (robots.allows("/a"), robots.allows("/b")) == (False, True)
    assert parse_robots(b"User-agent: *\n" + b"#" * ROBOTS_BYTES_MAX + b"\nDisallow: /", "x").allows("/")


def test_bytes_that_are_no_text_allow_everything() -> None:
    assert parse_robots(bytes(range(256)) * 100, "ipmicra") == Robots()


def test_a_rule_of_many_stars_costs_little() -> None:
    rule = "/" + "*a" * 2_000 + "*b"
    began = time.process_time()
    assert allows(f"User-agent: *\nDisallow: {rule}", "/" + "a" * 2_000)
    assert time.process_time() - began < 0.5


def test_a_line_of_many_spaces_costs_little() -> None:
    began = time.process_time()
    spaces = " " * (ROBOTS_BYTES_MAX - 40)
    assert not allows(f"User-agent: *\nDisallow: /a{spaces}b\nDisallow: /c", "/c")
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, RobotsVerdict.PARSE),
        (204, RobotsVerdict.PARSE),
        (301, RobotsVerdict.REDIRECT),
        (308, RobotsVerdict.REDIRECT),
        (400, RobotsVerdict.ALLOW_ALL),
        (401, RobotsVerdict.ALLOW_ALL),
        (403, RobotsVerdict.ALLOW_ALL),
        (404, RobotsVerdict.ALLOW_ALL),
        (410, RobotsVerdict.ALLOW_ALL),
        (429, RobotsVerdict.DISALLOW_ALL),
        (500, RobotsVerdict.DISALLOW_ALL),
        (503, RobotsVerdict.DISALLOW_ALL),
        (None, RobotsVerdict.DISALLOW_ALL),
    ],
)
def test_what_a_status_means(status: int | None, verdict: RobotsVerdict) -> None:
    assert verdict_on_status(status) is verdict


def test_five_redirects_are_followed_and_the_sixth_means_unavailable() -> None:
    assert [verdict_on_status(302, followed) for followed in (4, 5)] == [
        RobotsVerdict.REDIRECT,
        RobotsVerdict.ALLOW_ALL,
    ]


def test_disallow_all_forbids_every_page() -> None:
    assert not DISALLOW_ALL.allows("/")
    assert not DISALLOW_ALL.allows("/any?thing")

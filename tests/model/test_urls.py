"""Two texts that name one page get one normal form; what is no page gets none."""

from __future__ import annotations

import can_ada
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.crawler.decisions.scope import SiteBudget, scope_around
from ipmicra.crawler.decisions.traps import TrapRules, too_many_queries, trap_in
from ipmicra.model.urls import (
    Normaliser,
    Site,
    Url,
    key_of,
    name_of,
    path_of,
    port_of,
    site_of,
    url_at,
)

normaliser = Normaliser()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("http://example.org:80/a", "http://example.org/a"),
        ("https://example.org:443/a#part", "https://example.org/a"),
        ("https://example.org:8443/", "https://example.org:8443/"),
        ("http://example.org/a/../b/./c", "http://example.org/b/c"),
        ("http://example.org/%7euser/%2f%c3%bc", "http://example.org/~user/%2F%C3%BC"),
        ("http://example.org/ü", "http://example.org/%C3%BC"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://user:secret@example.org/", "http://example.org/"),
        ("http://example.org/?", "http://example.org/"),
        ("http://example.org/?&a=1&&b=2&", "http://example.org/?a=1&b=2"),
        ("http://example.org/?b=2&a=1", "http://example.org/?b=2&a=1"),  # order may matter
        ("http://example.org/?utm_source=x&id=3&fbclid=y", "http://example.org/?id=3"),
        ("http://example.org/?utm_source=x", "http://example.org/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("  http://example.org/a b\n", "http://example.org/a%20b"),
    ],
)
def test_normal_forms(text: str, expected: str) -> None:
    assert normaliser.url(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "page", "mailto:a@b.org", "javascript:1", "ftp://e.org/", "http://", "http://a b/", "//e.org"],
)
def test_what_is_no_web_page_has_none(text: str) -> None:
    assert normaliser.url(text) is None


@given(st.text(max_size=60), st.sampled_from(["http://example.org/", "https://e.org/a?", "http://x/%"]))
def test_normalising_twice_changes_nothing(text: str, start: str) -> None:
    once = normaliser.url(start + text)
    assert once is None or normaliser.url(once) == once


def test_parameters_are_kept_when_the_operator_says_so() -> None:
    assert Normaliser(()).url("http://e.org/?utm_source=x") == "http://e.org/?utm_source=x"


def test_references_are_joined() -> None:
    page = Url("http://e.org/a/b")
    assert normaliser.joined(page, "../c#d") == "http://e.org/c"
    assert normaliser.joined(page, "//f.org") == "http://f.org/"
    assert normaliser.joined(page, "mailto:x@y") is None


@pytest.mark.parametrize(
    ("url", "site", "name", "port"),
    [
        ("http://e.org/a?b", "http://e.org", "e.org", 80),
        ("https://e.org/", "https://e.org", "e.org", 443),
        ("http://e.org:81/", "http://e.org:81", "e.org", 81),
        ("http://[2001:db8::1]:81/x", "http://[2001:db8::1]:81", "2001:db8::1", 81),
        ("https://[2001:db8::1]/x", "https://[2001:db8::1]", "2001:db8::1", 443),
    ],
)
def test_a_url_has_a_site_and_a_site_a_name_and_a_port(
    url: str, site: str, name: str, port: int
) -> None:
    found = site_of(Url(url))
    assert (found, name_of(found), port_of(found)) == (site, name, port)
    assert url_at(found, path_of(Url(url))) == url


def test_keys_fit_sqlite_and_differ() -> None:
    keys = {key_of(Url(f"http://e.org/{number}")) for number in range(10_000)}
    assert len(keys) == 10_000
    assert all(-(1 << 63) <= key < 1 << 63 for key in keys)


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        ("site", "https://www.e.org/other", ["https://docs.e.org/docs/"]),
        ("site", "http://e.org/", ["https://www.e.org:8443/docs/"]),  # as sites redirect
        ("domain", "http://a.b.e.org:81/", ["https://not-e.org/"]),
        ("domain", "https://e.org/", ["https://org/"]),
        ("prefix", "https://www.e.org/docs/deeper/x", ["https://www.e.org/doc"]),
        ("any", "http://elsewhere.net/", []),
    ],
)
def test_a_scope_holds_what_is_inside_and_nothing_else(
    kind: str, inside: str, outside: list[str]
) -> None:
    scope = scope_around([Url("https://www.e.org/docs/start?x=/y")], kind)  # type: ignore[arg-type] # a table's text
    assert scope.holds(Url(inside))
    assert [url for url in outside if scope.holds(Url(url))] == []


def test_a_pattern_is_looked_for_in_the_whole_url() -> None:
    scope = scope_around([], "pattern", r"/(en|de)/\d+$")
    assert scope.holds(Url("http://e.org/de/12"))
    assert not scope.holds(Url("http://e.org/fr/12"))


def test_a_budget_ends_at_its_numbers() -> None:
    budget = SiteBudget(pages=2, bytes=100, depth=1)
    assert budget.allows(1, 99)
    assert not budget.allows(2, 0)
    assert not budget.allows(0, 100)


@pytest.mark.parametrize(
    ("path", "trap"),
    [
        ("/a/b/c/d/e/f", None),
        ("/" + "x" * 2_000, "over-long URL"),
        ("/a" + "/b/c" * 11, "too many path segments"),
        ("/a/b/a/b/a/b/a/b", "repeated path segments"),
        ("/a/b/a/c/a", None),
        ("/?" + "q" * 501, "over-long query"),
        ("/?" + "&".join(f"p{number}=1" for number in range(11)), "too many parameters"),
        ("/?f=1&f=2&f=3&f=4", "repeated parameters"),
        ("/calendar/2026/11", None),
        ("/calendar/2031/01", "calendar page far from today"),
        ("/calendar?date=1999-12", "calendar page far from today"),
        ("/view?year=2050", "calendar page far from today"),
        ("/news/2005/11/story", None),  # archives are content
        ("/schedule/1234567", None),
    ],
)
def test_traps(path: str, trap: str | None) -> None:
    assert trap_in(Url(f"http://e.org{path}"), 2026) == trap


def test_a_path_with_endless_queries_is_cut_off() -> None:
    rules = TrapRules(queries_per_path_max=3)
    assert [too_many_queries(known, rules) for known in (0, 2, 3)] == [False, False, True]


def test_a_site_is_not_a_url() -> None:
    assert Site("http://e.org") == site_of(Url("http://e.org/"))


@given(st.text("aZ09._~%2fFeE?&=@:/-#é ", max_size=30))
def test_a_link_made_absolute_gets_the_normal_form_of_its_text(path: str) -> None:
    absolute = normaliser.joined(Url("http://e.org/folder/"), path)
    if absolute is not None:
        link = can_ada.parse(f"http://e.org/folder/{path}").href.partition("#")[0]
        assert normaliser.link(link) == normaliser.url(link)

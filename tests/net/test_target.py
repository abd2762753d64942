"""A URL's target: what is read the short way is what the standard's parser reads."""

from __future__ import annotations

import can_ada
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import FetchFailed
from ipmicra.net.target import URL_CHARACTERS_MAX, HttpTarget, target_of

SITES = st.sampled_from(
    [
        "http://site.example",
        "https://SITE.example:8443",
        "http://0x7f000001",
        "http://[::1]:80",
        "ftp://x",
    ]
)
PATHS = st.text(alphabet="aZ09_~-./%?#@:\\ é\n", max_size=12)


@given(SITES, PATHS)
def test_every_url_is_read_as_the_standard_reads_it(site: str, path: str) -> None:
    target = target_of(f"{site}/{path}")
    parsed = can_ada.parse(f"{site}/{path}")
    if site == "ftp://x":
        assert isinstance(target, FetchFailed)
        assert target.kind is FailureKind.BAD_URL
        return
    assert isinstance(target, HttpTarget)
    assert target.resource == parsed.pathname + parsed.search
    assert (target.name, target.host_header) == (parsed.hostname, parsed.host)
    assert target.secure == (parsed.protocol == "https:")
    assert target.port == int(parsed.port or (443 if target.secure else 80))


@pytest.mark.parametrize(
    "url",
    [
        "http://a b.example/x",
        "http://",
        "http://site.example:99999/x",
        "x",
        "ftp://a.example/",
        "ws://a.example/",
    ],
)
def test_what_is_no_url_has_no_target(url: str) -> None:
    target = target_of(url)
    assert isinstance(target, FetchFailed)
    assert (target.kind, target.url) == (FailureKind.BAD_URL, url)


def test_a_url_that_is_too_long_is_not_parsed() -> None:
    longest = "http://a.example/" + "x" * (URL_CHARACTERS_MAX - 17)
    assert isinstance(target_of(longest), HttpTarget)
    target = target_of(longest + "x")
    assert isinstance(target, FetchFailed)
    assert "too long" in target.detail

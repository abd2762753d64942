"""A site's state from another crawler: an honest one passes, a poisoned one is refused as a whole."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.crawler.frontier import Batch, DiscoveredUrl, Frontier, VisitOutcome, state_check
from ipmicra.crawler.frontier.state_check import StateRefused, check_state
from ipmicra.crawler.frontier.transfer import PageRow, PageRows, SiteHead, decode_chunk
from ipmicra.model.urls import Site, Url, key_of

NOW = 1_800_000_000.0
A = Site("http://a.org")
Parts = list[SiteHead | PageRows]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    frontier = Frontier(tmp_path_factory.mktemp("frontier") / "f.sqlite")
    frontier.add([DiscoveredUrl(Url(f"{A}/{number}?q=ä"), 0, 0) for number in range(3)])
    (site,) = frontier.sites_to_open(10, 10)
    site.clock, site.robots_until = PolitenessClock(NOW + 9), NOW + 86_400
    first, *_ = frontier.lease(site, 10, 1)
    measured = [FetchStatistics(A, "192.0.2.1", 2, 500)]
    clocks = {"192.0.2.1": PolitenessClock(NOW + 8)}
    visited = [VisitOutcome(first, 200, 5, 5_000, '"t"', None, b"h")]
    frontier.commit(
        Batch(visited=visited, sites=[site], robots=[site], addresses=clocks, measured=measured)
    )
    chunks = list(frontier.export_site(A))
    frontier.close()
    return chunks


def test_an_honest_state_passes(honest: list[bytes]) -> None:
    check_state(honest, A, NOW)


def head(**changes: object) -> Callable[[Parts], object]:
    def change(parts: Parts) -> None:
        assert isinstance(parts[0], SiteHead)
        state = {name: value for name, value in changes.items() if hasattr(parts[0].state, name)}
        rest = {name: value for name, value in changes.items() if name not in state}
        replaced = msgspec.structs.replace(parts[0].state, **state)
        parts[0] = msgspec.structs.replace(parts[0], state=replaced, **rest)

    return change


def page(key: int, *queued: object) -> Callable[[Parts], object]:
    return lambda parts: parts.append(PageRows([PageRow(key, queued, None)]))


def visit(*values: object) -> Callable[[Parts], object]:
    return lambda parts: parts.append(PageRows([PageRow(key_of(Url(f"{A}/v")), None, values)]))


OTHER = Url("http://a.org@b.org/x")
POISON = {
    "another site": head(site=Site("http://b.org")),
    "a path that makes another site": page(key_of(OTHER), 0, 0, 0, 0, 0, 0, "@b.org/x"),
    "a key of another page": page(key_of(Url("http://b.org/x")), 0, 0, 0, 0, 0, 0, "/x"),
    "a time that no database holds": page(key_of(Url(f"{A}/x")), 1 << 63, 0, 0, 0, 0, 0, "/x"),
    "a negative time": page(key_of(Url(f"{A}/x")), -1, 0, 0, 0, 0, 0, "/x"),
    "a text for a number": page(key_of(Url(f"{A}/x")), "0", 0, 0, 0, 0, 0, "/x"),
    "a list for a path": page(key_of(Url(f"{A}/x")), 0, 0, 0, 0, 0, 0, ["/x"]),
    "too few values": page(key_of(Url(f"{A}/x")), 0),
    "a line break in a path": page(key_of(Url(f"{A}/x\r\ny")), 0, 0, 0, 0, 0, 0, "/x\r\ny"),
    "a visit of nothing": visit(),
    "a visit with no number": visit(
        0, 0, "/v", 1, 200, 5, None, 1, None, None, b"", float("nan"), 0.0, 0.0
    ),
    "a clock of the far future": head(clock=PolitenessClock(NOW * 2)),
    "a clock that never ends": head(clock=PolitenessClock(float("inf"))),
    "a robots.txt that never expires": head(robots_until=NOW * 2),
    "clocks of others' addresses": head(addresses={"198.51.100.1": PolitenessClock(NOW)}),
    "others' measurements": head(measured=[FetchStatistics(Site("http://b.org"), "192.0.2.1")]),
    "an address that is none": head(measured=[FetchStatistics(A, "nowhere")], addresses={}),
    "counts out of range": head(pages_fetched=1 << 63),
    "another format": head(version=99),
    "no head": lambda parts: parts.pop(0),
    "two heads": lambda parts: parts.append(parts[0]),
    "nothing": lambda parts: parts.clear(),
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
def test_a_poisoned_state_is_refused(honest: list[bytes], poison: Callable[[Parts], object]) -> None:
    parts = [decode_chunk(chunk) for chunk in honest]
    poison(parts)
    with pytest.raises(StateRefused):
        check_state([msgspec.msgpack.encode(part) for part in parts], A, NOW)


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(StateRefused):
        check_state([b"\xc1 no message"], A, NOW)


def test_a_state_without_end_is_refused(honest: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_check, "STATE_BYTES_MAX", sum(map(len, honest)))
    check_state(honest, A, NOW)
    with pytest.raises(StateRefused, match="more than"):
        check_state([*honest, honest[-1]], A, NOW)

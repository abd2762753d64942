"""A seed -> a generated world, a script of events in it, and a referee who drives a strategy through it.

Invariant: the referee holds every strategy to the contract at every step; what it returns is the whole
course of decisions, as text, so that two runs can be compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import TypeAlias

from ipmicra.addresses import AddressRange
from ipmicra.delegation.crawlers import CrawlerProfile, GeoPosition
from ipmicra.delegation.decision import Decision
from ipmicra.delegation.driver import drive
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.hierarchy import Allocation, Allocations, SubnetTree, build_tree
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, NoAnswer, Probe, ProbeAnswer, Source, Target

MakeStrategy: TypeAlias = Callable[[SubnetLookup, random.Random], Strategy]
COUNTRIES = ("DE", "FR", "JP", "US", "BR")


def tree_of(*allocations: tuple[str, str] | tuple[str, str, str]) -> SubnetTree:
    """A tree of ("10.0.0.0/8", "organisation", "country") records."""
    records = Allocations()
    for text, organisation, *country in allocations:
        records.append(
            Allocation(
                AddressRange.parse(text),
                handle=organisation,
                name=organisation,
                country="".join(country),
            )
        )
    return build_tree(records).tree


def made_up_tree() -> SubnetTree:
    """/8 of registries, /12 of networks, /16 of organisations, some unary; organisations repeat."""
    records: list[tuple[str, str, str]] = []
    for high in range(10, 15):
        country = COUNTRIES[high - 10]
        records.append((f"{high}.0.0.0/8", f"registry {high}", country))
        for middle in range(0, 64, 16):
            records.append((f"{high}.{middle}.0.0/12", f"network {middle % 3}", country))
            records += [
                (f"{high}.{middle + low}.0.0/16", f"company {(middle + low + high) % 11}", country)
                for low in range(0, 16, 3)
            ]
            records.append((f"{high}.{middle}.7.7", f"company {middle % 5}", country))
    return tree_of(*records)


def site_at(text: str) -> Target:
    """A site at an address."""
    return Target.of(f"site-{text}.example", IPv4Address(text))


class Referee:
    """Drives one strategy through a generated world and does not let it break the contract."""

    def __init__(self, make: MakeStrategy, seed: int, crawlers: int, silent_share: float = 0.1) -> None:
        self.dice = random.Random(seed)
        self.tree = made_up_tree()
        self.strategy = make(self.tree, random.Random(seed + 1))
        self.silent_share = silent_share
        self.places: dict[CrawlerId, tuple[float, float]] = {}
        self.asleep: set[CrawlerId] = set()
        self.now_s = 0.0
        self.course: list[str] = []
        for number in range(crawlers):
            self.join(CrawlerId(f"c{number}"))

    # --- events -------------------------------------------------------------

    def join(self, name: CrawlerId) -> None:
        place = self.dice.uniform(-60, 60), self.dice.uniform(-180, 180)
        home = IPv4Address(f"{self.dice.randrange(10, 15)}.{self.dice.randrange(64)}.0.9")
        profile = CrawlerProfile(name, home, position=GeoPosition(*place))
        self.places[name] = place
        self.strategy.on_crawler_joined(profile)
        for other in self.places:
            if other != name:
                self.strategy.on_crawlers_measured(
                    name, other, 5.0 + self._span_ms(place, self.places[other])
                )

    def leave(self, name: CrawlerId) -> None:
        self.strategy.on_crawler_left(name)
        del self.places[name]
        self.asleep.discard(name)
        assert self.strategy.delegations.held_by(name) == ()

    def sleep(self, name: CrawlerId) -> None:
        self.strategy.on_crawler_slept(name)
        self.asleep.add(name)

    def wake(self, name: CrawlerId) -> None:
        self.strategy.on_crawler_woke(name)
        self.asleep.discard(name)

    def something_happens(self) -> None:
        """A crawler joins, leaves, falls asleep or wakes."""
        present = sorted(self.places)
        what = self.dice.choice(["join", "leave", "sleep", "wake"])
        if what == "join" or not present:
            self.join(CrawlerId(f"n{len(self.course)}-{self.dice.randrange(10**6)}"))
        else:
            {"leave": self.leave, "sleep": self.sleep, "wake": self.wake}[what](
                self.dice.choice(present)
            )

    # --- delegating -----------------------------------------------------------

    def some_target(self) -> Target:
        text = f"{self.dice.randrange(9, 16)}.{self.dice.randrange(64)}.{self.dice.choice([0, 7])}.7"
        return site_at(text)

    def delegate(self, target: Target, *, afresh: bool = False, unrest: float = 0.0) -> Decision:
        """Drive a delegation to its end; with `unrest`, things happen while probes are under way."""
        talk = self.strategy.delegate(target, self.now_s, afresh=afresh)
        asked: list[tuple[CrawlerId, ProbeAnswer]] = []
        crawlers_ever = set(self.places)

        def tell(probe: Probe) -> ProbeAnswer:
            self._check_probe(probe, target, [name for name, _ in asked])
            answer = self._answer(probe, unrest)
            crawlers_ever.update(self.places)
            asked.append((probe.crawler, answer))
            return answer

        decision = drive(talk, tell)
        assert len(asked) <= len(crawlers_ever), "more probes than crawlers"
        self._check_decision(decision, target, [name for name, _ in asked])
        self.now_s += 1.0
        return decision

    def _answer(self, probe: Probe, unrest: float) -> ProbeAnswer:
        if self.dice.random() < unrest:
            self.something_happens()
        if probe.crawler not in self.places:
            return ProbeAnswer(None, NoAnswer.CRAWLER_GONE)
        if probe.crawler in self.asleep:
            return ProbeAnswer(None, NoAnswer.CRAWLER_ASLEEP)
        if self.dice.random() < self.silent_share:
            return ProbeAnswer(None, NoAnswer.TIMED_OUT)
        return ProbeAnswer(self.round_trip_ms(probe.crawler, probe.target.address))

    def round_trip_ms(self, crawler: CrawlerId, address: object) -> float:
        assert isinstance(address, IPv4Address)
        high, middle = address.packed[0], address.packed[1]
        there = (high - 12) * 15.0, (high - 12) * 60.0 + middle / 8
        return 5.0 + self._span_ms(self.places[crawler], there)

    def _span_ms(self, here: tuple[float, float], there: tuple[float, float]) -> float:
        return GeoPosition(*here).distance_km(GeoPosition(*there)) / 80.0

    # --- the contract ---------------------------------------------------------

    def _check_probe(self, probe: Probe, target: Target, asked: list[CrawlerId]) -> None:
        assert probe.target == target, "a probe of something else"
        assert probe.crawler not in asked, "the same crawler asked twice"
        assert probe.crawler in self.places, "a crawler asked that is not there"
        assert probe.crawler not in self.asleep, "a sleeping crawler asked"

    def _check_decision(self, decision: Decision, target: Target, asked: list[CrawlerId]) -> None:
        assert [name for name, _ in decision.probes] == asked, "the decision's probes are not those made"
        assert decision.explanation()
        if decision.crawler is None:
            assert decision.waits_for is None or decision.waits_for in self.asleep
        else:
            assert decision.crawler in self.places, "delegated to one who is not there"
            assert decision.crawler not in self.asleep, "delegated to a sleeper"
            assert self.strategy.owner_of(target) == decision.crawler
            for subnet in decision.subnets:
                assert self.strategy.delegations.owner(subnet) == decision.crawler
        self.check_owners()
        self.course.append(f"{target.site} {decision.crawler} {decision.why} {asked}")

    def check_owners(self) -> None:
        """One owner per unit, and both ways of looking it up agree."""
        delegations = self.strategy.delegations
        held = [unit for crawler in sorted(self.places) for unit in delegations.held_by(crawler)]
        assert len(held) == len(set(held)) == len(delegations)

    def fetch(self, target: Target, crawler: CrawlerId) -> None:
        """An ordinary fetch brings a round trip for free."""
        round_trip_ms = self.round_trip_ms(crawler, target.address)
        self.strategy.learn(
            Measurement(crawler, target.address, round_trip_ms, self.now_s, Source.PASSIVE)
        )


def course_of(make: MakeStrategy, seed: int, steps: int = 60) -> list[str]:
    """A whole play: sites turn up, things happen, fetches bring round trips. One line per decision."""
    referee = Referee(make, seed, crawlers=6)
    for step in range(steps):
        if step % 5 == 4:
            referee.something_happens()
        target = referee.some_target()
        decision = referee.delegate(target, afresh=step % 11 == 10, unrest=0.05)
        if decision.crawler is not None:
            referee.fetch(target, decision.crawler)
    return referee.course

"""Hosts, some of which lie, and sites, some of which change -> the hosts that are revoked, and when.

It plays the coordinator's own `jury` and `trust` on generated fingerprints. Invariant: seeded; one step is
one comparison of one page of one host.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from ipmicra.coordinator.ingest.jury import Fingerprint, Outcome, Verdict, verdict_on
from ipmicra.coordinator.ingest.trust import (
    SiteChange,
    TrustEvidence,
    change_probability,
    is_control_wanted,
)

SITES_PER_HOST = 50
CHANGES_MIN, CHANGES_MAX = (
    0.02,
    0.5,
)  # probability that a page of a changing site changes between two looks


@dataclass(frozen=True)
class HostGroup:
    """The hosts and sites of a trial."""

    hosts: int = 20
    liars: int = 1
    altered_share: float = 0.01  # of a liar's pages
    colluding: bool = False  # liars confirm each other, and accuse honest hosts with one voice
    dynamic_share: float = (
        0.0  # of sites: half answer each request with other words, half change now and then
    )


@dataclass
class LyingHostsResult:
    """The result of a trial."""

    compared: Counter[int] = field(default_factory=Counter)  # by host
    looks: int = 0
    dismissed: dict[int, int] = field(default_factory=dict)  # host -> its comparisons until then
    honest_suspicion_max: float = 0.0


class _Site:
    __slots__ = ("change", "changes_with_each_request", "known")

    def __init__(self, dice: Random, dynamic_share: float) -> None:
        is_dynamic = dice.random() < dynamic_share
        self.changes_with_each_request = is_dynamic and dice.random() < 0.5
        is_slow = is_dynamic and not self.changes_with_each_request
        self.change = dice.uniform(CHANGES_MIN, CHANGES_MAX) if is_slow else 0.0
        self.known = SiteChange()


class LyingHostsTrial:
    """One group of hosts under one coordinator."""

    def __init__(self, group: HostGroup, seed: int) -> None:
        self._crowd, self._dice = group, Random(seed)  # noqa: S311 - a play
        self._sites = [
            [_Site(self._dice, group.dynamic_share) for _ in range(SITES_PER_HOST)]
            for _ in range(group.hosts)
        ]
        self._standing = [TrustEvidence()] * group.hosts
        self._everywhere = SiteChange()
        self.played = LyingHostsResult()

    def play(self, comparisons: int) -> LyingHostsResult:
        """Play the given number of comparisons of each host that is not revoked, in turn."""
        for _ in range(comparisons):
            for host in range(self._crowd.hosts):
                if host not in self.played.dismissed:
                    self._compare(host)
        return self.played

    def _is_liar(self, host: int) -> bool:
        return host < self._crowd.liars

    def _compare(self, host: int) -> None:
        dice, number = self._dice, self._dice.randrange(SITES_PER_HOST)
        site = self._sites[host][number]
        is_altered = self._is_liar(host) and dice.random() < self._crowd.altered_share
        truth, lie = _print(dice), _print(dice)
        now = _print(dice) if dice.random() < site.change else truth
        sent = lie if is_altered else truth
        others = [one for one in range(self._crowd.hosts) if one not in (host, *self.played.dismissed)]
        dice.shuffle(others)
        looks: list[Fingerprint] = []
        verdict = Verdict(Outcome.MORE, witnesses=1)
        agreed_lie = _print(dice)
        while verdict.outcome is Outcome.MORE:
            for witness in others[len(looks) : verdict.witnesses]:
                seen = _print(dice) if site.changes_with_each_request else now
                looks.append(self._told(witness, host, seen, sent, agreed_lie))
            self.played.looks += len(looks)
            verdict = verdict_on(sent, looks, is_last=len(looks) == len(others))
        self._conclude(host, number, verdict, [*zip(others, looks, strict=False)])

    def _told(
        self, witness: int, host: int, seen: Fingerprint, sent: Fingerprint, agreed_lie: Fingerprint
    ) -> Fingerprint:
        if not (self._crowd.colluding and self._is_liar(witness)):
            return seen
        return sent if self._is_liar(host) else agreed_lie

    def _conclude(
        self, host: int, number: int, verdict: Verdict, looks: list[tuple[int, Fingerprint]]
    ) -> None:
        site = self._sites[host][number]
        is_contradicted = verdict.outcome is Outcome.CONTRADICTED
        is_confirmed = verdict.outcome is Outcome.CONFIRMED
        if is_contradicted or (is_confirmed and is_control_wanted(site.known, self._dice.random())):
            self.played.looks += 1
            has_changed = site.changes_with_each_request or self._dice.random() < site.change
            site.known = site.known.after(has_changed)
            if is_confirmed:
                self._everywhere = self._everywhere.after(has_changed)
            elif has_changed:
                return
        if verdict.outcome in (Outcome.CONFIRMED, Outcome.CONTRADICTED):
            self._judge(host, f"{host}/{number}", verdict.outcome is Outcome.CONTRADICTED, site)
        if len(looks) >= 3 and verdict.outcome in (Outcome.CONFIRMED, Outcome.CONTRADICTED):
            for at, (witness, _) in enumerate(looks):
                if witness not in self.played.dismissed:
                    self._judge(witness, f"{host}/{number}", at not in verdict.agreeing, site)

    def _judge(self, host: int, site_name: str, is_contradicted: bool, site: _Site) -> None:
        probability = change_probability(site.known, self._everywhere)
        standing = self._standing[host].after(site_name, is_contradicted, probability)
        self._standing[host] = standing
        self.played.compared[host] += 1
        if not self._is_liar(host):
            self.played.honest_suspicion_max = max(self.played.honest_suspicion_max, standing.suspicion)
        if not standing.is_believed:
            self.played.dismissed[host] = self.played.compared[host]


def _print(dice: Random) -> Fingerprint:
    bits = dice.getrandbits(64) | 1
    return Fingerprint(f"{bits:x}", bits)

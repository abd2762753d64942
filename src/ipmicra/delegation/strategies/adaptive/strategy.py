"""A target -> the few probes worth asking -> its nearest crawler, with reasons.

The expected round trips of a site come from examples (`training.history`), weighted by what the site
shares with them (`inference.prior`) and by how well they predicted the answers so far
(`inference.belief`). The most valuable probe is sent (`inference.value_of_information`), until none is
worth its price. Then the site becomes an example itself.

Invariant: the chosen crawler has answered for this site or for one that is probably in the same machine
room, unless its subnet is known to agree. Nothing is learnt about places from an anycast address.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.probe_session import ProbeSession
from ipmicra.delegation.strategies.adaptive.arrays import Whole
from ipmicra.delegation.strategies.adaptive.explanation import (
    candidates_step,
    stop_step,
    ties_step,
    unasked_step,
)
from ipmicra.delegation.strategies.adaptive.facts import SiteFeatures, facts_in
from ipmicra.delegation.strategies.adaptive.inference.belief import Belief
from ipmicra.delegation.strategies.adaptive.inference.prior import SimilarityFeatures
from ipmicra.delegation.strategies.adaptive.inference.value_of_information import choice
from ipmicra.delegation.strategies.adaptive.inference.variances import VarianceModel
from ipmicra.delegation.strategies.adaptive.settings import AdaptiveSettings
from ipmicra.delegation.strategies.adaptive.state import AdaptiveState, restore, state_of
from ipmicra.delegation.strategies.adaptive.training.history import ExampleHistory
from ipmicra.delegation.strategies.adaptive.training.subnet_agreement import SubnetAgreement
from ipmicra.delegation.strategies.learning_strategy import LearningStrategy
from ipmicra.delegation.strategy import Delegating
from ipmicra.delegation.subnets import SubnetLookup, known_subnet
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Probe, ProbeAnswer, Target


class Adaptive(LearningStrategy):
    """Asks the probe worth most, and stops when none is worth its price."""

    def __init__(self, tree: SubnetLookup, rng: random.Random, settings: AdaptiveSettings) -> None:
        super().__init__(tree, rng, settings.silent_probes_max, settings.retry_after_s)
        self._settings = settings
        self.experience = ExampleHistory(tree, settings)
        self.ties = SimilarityFeatures(settings)
        self.spreads = VarianceModel()
        self.agreement = SubnetAgreement()
        self._awake: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._awake_at: tuple[object, ...] = ()

    def to_state(self) -> AdaptiveState:
        """The learnt state, as plain records."""
        return state_of(self)

    def from_state(self, state: AdaptiveState) -> None:
        """Take over what another learnt; the crawlers have joined already."""
        restore(self, state)

    # --- what is whose --------------------------------------------------------

    def owner_of(self, target: Target) -> CrawlerId | None:
        """The address's own owner, else that of its subnet where its sites agree."""
        owner = self.delegations.owner(target.address)
        return self._inherited(known_subnet(self.tree, target.address)) if owner is None else owner

    def unit_of(self, target: Target) -> DelegationUnit:
        """The address, unless it goes with its subnet."""
        if self.delegations.owner(target.address) is None:
            subnet = known_subnet(self.tree, target.address)
            if subnet is not None and self._inherited(subnet) is not None:
                return subnet
        return target.address

    def _inherited(self, subnet: Subnet | None) -> CrawlerId | None:
        owner = None if subnet is None else self.delegations.owner(subnet)
        return (
            owner if subnet is not None and owner is not None and self._agrees(subnet, owner) else None
        )

    def _agrees(self, subnet: Subnet, owner: CrawlerId) -> bool:
        doubt = self.agreement.doubt(self.tree.range_of(subnet), owner)
        return doubt * self.experience.wrong_ms < self._price_ms

    @property
    def _price_ms(self) -> float:
        """Of a probe, among the crawlers that are there."""
        return self._settings.price * self.experience.price_factor

    # --- deciding -------------------------------------------------------------

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        if not afresh and (owner := self.delegations.owner(target.address)) is not None:
            return self.keep_owner(owner)
        subnet = known_subnet(self.tree, target.address)
        if not afresh and (kept := self._kept(target, subnet, now_s)) is not None:
            return kept
        session = ProbeSession(self, target, now_s)
        if not afresh:
            session.recall(self._settings.remember_s)
        if not self.crawlers.awake:
            return session.decision(None, Why.NO_CRAWLER_AWAKE)
        facts = facts_in(subnet, target.address, self.tree)
        belief, unasked = yield from self._asked(session, facts)
        return self._end(session, subnet, facts, belief, None if afresh else unasked)

    def _kept(self, target: Target, subnet: Subnet | None, now_s: float) -> Decision | None:
        owner = self._inherited(subnet)
        if owner is not None and subnet is not None and self.rng.random() >= self._settings.explore:
            return self.keep_owner(owner, subnet)
        return self.existing_decision(target, (), now_s)

    def _asked(
        self, session: ProbeSession, facts: SiteFeatures
    ) -> Generator[Probe, ProbeAnswer, tuple[Belief, CrawlerId | None]]:
        """Probe until no probe is worth its price. The belief is made again if examples changed in
        between. Also returns the unprobed crawler that is expected to be nearer than all that answered,
        if any.
        """
        unasked = None
        curious = self.rng.random() < self._settings.explore
        belief = self._belief_for(session, facts)
        while not self.is_pointless(session):
            if not belief.stands:
                belief = self._belief_for(session, facts)
            best_ms = _best_ms(session)
            askable = self._askable(session)
            column, saving_ms, nearer = choice(belief, askable, best_ms, self._price_ms)
            if column is None:
                break
            names = self.experience.mutual.names
            crawler = names[column]
            if saving_ms < (price_ms := self._price_ms):
                if not curious or self._nothing_to_find(belief.light_ms(column), best_ms):
                    session.steps.append(stop_step(crawler, saving_ms, price_ms))
                    unasked = None if nearer is None else names[nearer]
                    break
                curious = False
                session.note("curious", "one probe more, so that beliefs do not confirm themselves")
            round_trip_ms = yield from session.ask(crawler)
            if round_trip_ms is not None and belief.stands:
                belief.observe(column, round_trip_ms)
        return belief if belief.stands else self._belief_for(session, facts), unasked

    def _nothing_to_find(self, light_ms: float, best_ms: float | None) -> bool:
        """Whether light is too slow for the answer to be the best. Only an address in many places breaks
        this, and one curious look in many is spared to find those. The triangle does not count here:
        routes break it, and curiosity is there to find out where."""
        too_far = best_ms is not None and light_ms >= best_ms
        return too_far and self.rng.random() >= self._settings.explore

    def _belief_for(self, session: ProbeSession, facts: SiteFeatures) -> Belief:
        """The belief from the prior, and from what is known already."""
        self.experience.ready()
        near = self.experience.near(facts.country) if self._settings.country else None
        prior = self.ties.prior(facts, near, self.experience.examples)
        belief = Belief(prior, self.experience, self.spreads)
        for crawler, round_trip_ms in session.round_trips_ms().items():
            if (column := self.experience.mutual.column.get(crawler)) is not None:
                belief.observe(column, round_trip_ms)
        return belief

    def _askable(self, session: ProbeSession) -> Whole:
        """Columns of crawlers awake, believed, and neither asked nor remembered."""
        askable = self._awake_and_trusted().copy()
        for crawler in (*session.answers, *session.recalled_ms):
            if (column := self.experience.mutual.column.get(crawler)) is not None:
                askable[column] = False
        return askable.nonzero()[0]

    def _awake_and_trusted(self) -> NDArray[np.bool_]:
        """Whether each column is an awake, trusted crawler; updated when crawlers, sleep or trust change."""
        stand = (self.crawlers.awake, self.trust.distrusted, self.experience.version)
        if self._awake_at != stand:
            column, believes = self.experience.mutual.column, self.trust.trusts
            self._awake = np.zeros(len(column), dtype=np.bool_)
            self._awake[[column[c] for c in self.crawlers.awake if believes(c)]] = True
            self._awake_at = stand
        return self._awake

    # --- concluding -----------------------------------------------------------

    def _end(
        self,
        session: ProbeSession,
        subnet: Subnet | None,
        facts: SiteFeatures,
        belief: Belief,
        unasked: CrawlerId | None,
    ) -> Decision:
        """Subnets count answers only; counting unprobed decisions would confirm itself."""
        fastest = session.fastest()
        if belief.columns:
            session.steps += [
                ties_step(belief.prior),
                candidates_step(belief, belief.crawlers),
            ]
        units: tuple[DelegationUnit, ...] = (session.target.address,)
        if fastest is not None and not session.near:
            self._become_wiser(session, facts, belief)
            units += self._subnet_with(subnet, fastest) if unasked is None else ()
        if unasked is not None:
            session.steps.append(unasked_step(unasked))
        return self.conclude(session, unasked or fastest, Why.BELIEVED, units)

    def _become_wiser(self, session: ProbeSession, facts: SiteFeatures, belief: Belief) -> None:
        if belief.columns:
            self.ties.learn(belief.prior, belief.by_example())
            belief.teach()
            if self._settings.sites:
                values_ms, doubts_ms = belief.summary()
                belief.update_twins()
                self.experience.remember(session.target.address, facts, values_ms, doubts_ms)

    def _subnet_with(self, subnet: Subnet | None, chosen: CrawlerId) -> tuple[DelegationUnit, ...]:
        """It goes along where most of its sites go to the chosen crawler."""
        if subnet is None:
            return ()
        most = self.agreement.count(self.tree.range_of(subnet), chosen)
        return (subnet,) if most == chosen else ()

    # --- events ---------------------------------------------------------------

    def learn(self, measurement: Measurement) -> None:
        """A remembered site is measured again: its example follows."""
        super().learn(measurement)
        value = measurement.round_trip_ms
        if value is not None and isfinite(value) and value > 0:
            self.experience.correct(measurement.address, measurement.crawler, value)

    def on_crawlers_measured(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        super().on_crawlers_measured(one, other, round_trip_ms)
        believed_ms = self.crawlers.mutual_ms(one, other)
        if believed_ms is not None and one != other:
            self.experience.measure(one, other, believed_ms)

    def on_crawler_joined(self, profile: CrawlerProfile) -> None:
        super().on_crawler_joined(profile)
        self.experience.join(profile)

    def on_crawler_left(self, crawler: CrawlerId) -> tuple[DelegationUnit, ...]:
        self.experience.leave(crawler)
        self.agreement.forget(crawler)
        return super().on_crawler_left(crawler)


def _best_ms(session: ProbeSession) -> float | None:
    fastest = session.fastest()
    return None if fastest is None else session.round_trips_ms()[fastest]

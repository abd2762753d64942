"""The settings of `adaptive`, and the cost of higher values."""

from __future__ import annotations

import msgspec


class AdaptiveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`price` trades accuracy for probes; the others bound time and memory and seldom need a hand."""

    # ms per probe must be expected to save, where crawlers are 24 ms apart (price.py); higher: fewer
    # probes, further crawlers
    price: float = 1.0
    explore: float = 0.05  # share of sites that get one probe more; higher: more probes, truer examples
    sites_max: int = (
        4096  # sites stored as examples, 16 bytes per crawler each; the oldest is dropped first
    )
    examples_max: int = 1000  # examples weighed for a site; more: slower, hardly better
    remember_s: float = 7 * 86400.0  # how old a remembered result may be; longer: fewer probes, staler
    silent_probes_max: int = 3  # higher: more probes wasted on the dead, fewer given up too early
    retry_after_s: float = 3600.0  # shorter: more probes wasted on the dead
    # What it may go by. Each is worth probes; to leave one out is for ablations.
    country: bool = True  # the country that the registry names
    network: bool = True  # autonomous system, organisation and smallest subnet
    prefix: bool = True  # leading bits of the address
    places: bool = True  # the towns of a country, by distance
    sites: bool = True  # what past sites were found to be

"""Identifiers and epochs: each kind is a type of its own, so that no two kinds are ever compared or mixed up.

An epoch is a counter that only rises. A request from an older epoch is refused.

| type            | counts                                 | rises when                          |
|-----------------|----------------------------------------|-------------------------------------|
| `LeaseEpoch`    | a host's lease at the coordinator      | the lease expires or is taken away  |
| `SiteEpoch`     | the assignment of a site to a crawler  | the site gets an owner, or loses it |
| `LeaderTerm`    | the leader's lease                     | another replica becomes the leader  |
| `FrontierEpoch` | a frontier file                        | a process opens it                  |
| `DelegateEpoch` | the delegation of a site in the overlay| the delegate changes                |
"""

from __future__ import annotations

from typing import NewType

CrawlerId = NewType("CrawlerId", str)  # a crawler's name, which is also its host's
SiteName = NewType("SiteName", str)  # a site as a strategy sees it: a key of any form

LeaseEpoch = NewType("LeaseEpoch", int)
SiteEpoch = NewType("SiteEpoch", int)
LeaderTerm = NewType("LeaderTerm", int)
FrontierEpoch = NewType("FrontierEpoch", int)
DelegateEpoch = NewType("DelegateEpoch", int)

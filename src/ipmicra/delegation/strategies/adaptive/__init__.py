"""Free information and a few probes -> the nearest crawler (`adaptive`).

Invariant: numpy and arithmetic only; randomness comes in seeded; the same questions and answers give the same
decisions on every machine.
"""

from ipmicra.delegation.strategies.adaptive.settings import AdaptiveSettings
from ipmicra.delegation.strategies.adaptive.strategy import Adaptive

__all__ = ["Adaptive", "AdaptiveSettings"]

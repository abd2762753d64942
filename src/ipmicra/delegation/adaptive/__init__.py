"""Free information and a few probes -> the nearest crawler (`adaptive`).

Law: numpy and arithmetic only; randomness comes in seeded; the same questions and answers give the same
decisions on every machine.
"""

from ipmicra.delegation.adaptive.settings import AdaptiveSettings
from ipmicra.delegation.adaptive.strategy import Adaptive

__all__ = ["Adaptive", "AdaptiveSettings"]

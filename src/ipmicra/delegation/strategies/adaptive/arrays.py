"""The shapes that numbers have in this package.

Round trips and weights are single floats: seven digits are more than a round trip has, and half of the
memory and of the time. What is summed up over many sites is double.

Invariant: types only, nothing that computes.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Whole: TypeAlias = NDArray[np.int64]
IntArray: TypeAlias = NDArray[np.uint64]

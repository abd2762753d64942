"""What a decoder raises for bytes that others sent: one name for all of it.

Invariant: msgspec reports wrong types and lengths as its own errors, but text that is not UTF-8 as a
UnicodeDecodeError, and deep nesting as a RecursionError. Whoever decodes foreign bytes expects all three.
"""

from __future__ import annotations

import msgspec

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

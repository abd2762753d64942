"""What all tests share: hypothesis tests whether, not how fast; a busy machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("ipmicra", deadline=None)
settings.load_profile("ipmicra")

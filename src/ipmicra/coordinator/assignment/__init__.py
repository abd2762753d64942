"""Decisions and reports -> site ownership: assignment, release, and the effects of heartbeats."""

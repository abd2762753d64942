"""What crosses a process border: messages, signatures, frames and the bundle format.

Invariant: imports only `model`. The rules of change are in docs/reference/compatibility.md.
"""

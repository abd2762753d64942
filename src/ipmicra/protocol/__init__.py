"""What crosses a process border: messages, signatures, frames and the bundle format.

Invariant: imports only `model`. How these may change is written in docs/reference/compatibility.md.
"""

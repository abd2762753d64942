"""Round-trip times -> points in space whose distances predict round-trip times.

Invariant: pure. Round trips come in as numbers in milliseconds, randomness as a seeded generator; points go
out.
"""

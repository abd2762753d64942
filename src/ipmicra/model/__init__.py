"""The nouns that travel -> typed, frozen values: URLs, pages, records, probes, failures.

Invariant: no I/O, no clock; imports only `addresses` and `errors`.
"""

"""A URL -> one answer of a site, or the kind of its failure; one hop, capped in every direction.

`exchange` holds the words that others code against; `web_fetcher` is the real thing. Invariant: a fetch
never raises for what a site does, never connects to an address that the guard refuses, and never holds
more than its caps in memory.
"""

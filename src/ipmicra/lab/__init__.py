"""Latency data and generated webs -> an Internet to try the system in.

    loading/ or generated     files, or a seed        -> a World: places and the round trips between them
    draws                     a World and a seed      -> crawlers, sites, what is true of them
    simulator                 a strategy and a draw   -> what it decided, and how many probes it took
    experiments/              a question              -> a table, a plot, a page

Invariant: of a site a strategy learns the name, the address and what the registry tree says of that address,
and the answers to its probes; nothing else. Country, continent and position of a place serve to choose
crawlers and to draw maps. Of the crawlers everything may be known. The product does not know the lab.
"""

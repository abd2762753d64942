"""RIR and WHOIS files -> allocations: range, organisation, country; and the tree's file on disk.

Invariant: a file is streamed, never loaded; whatever its bytes are, each record either becomes an allocation,
is passed over because it is of no interest here, or is counted as malformed with its file and line.
"""

"""RIR and WHOIS files -> allocations: range, organisation, country; and the tree's file on disk.

Invariant: a file is streamed, never loaded. For any bytes, each record becomes an allocation, is skipped
because it is of no interest here, or is counted as malformed with its file and line.
"""

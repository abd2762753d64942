"""A crawler and a site -> a round-trip time.

Every fetch measures one for free (`passive`). Before anything is fetched, a prober measures actively: by
connecting, by HEAD, or by ICMP where the machine allows it (`prober`). Invariant: the kernel's figure is
used where there is one; the address guard applies to probes as to fetches; a probe is a few packets.
"""

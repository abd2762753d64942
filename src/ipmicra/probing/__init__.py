"""A crawler and a site -> a round-trip time.

Every fetch measures one for free (`passive`); who must know before anything is fetched asks actively, by
connecting, by HEAD, or by ICMP where the machine allows it (`prober`). Law: the kernel's figure is taken
where there is one; the address guard holds for probes as it does for fetches; a probe is few packets.
"""

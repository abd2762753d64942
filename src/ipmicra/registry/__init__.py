"""RIR and WHOIS files -> allocations: range, organisation, country; and the file of the tree made of them."""

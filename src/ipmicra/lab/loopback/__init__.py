"""A seed -> a generated Internet on loopback addresses: names, sites, pages, and delays by the client's
address.

Real HTTP over real sockets, no privileges. The delays are the server's: it waits one round trip before
each answer and one more on a new connection, by the address that asks. The kernel's own round trip
stays that of loopback, so in this world a probe is a HEAD request.
"""

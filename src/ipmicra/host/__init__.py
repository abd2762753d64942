"""A hosting machine -> where a crawler may run: hours, limits, and the connection to the coordinator.

Invariant: the host's own rules always win, and the host only makes outgoing connections.
"""

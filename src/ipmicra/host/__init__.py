"""A hosting machine -> where a crawler may live: hours, limits, and the line to the coordinator.

Law: the host's own rules always win, and the host only ever calls out.
"""

"""Requests of hosts and operators -> the coordinator: state, orders, delegation, API.

Invariant: the SQL row is the truth. Everything that was acknowledged is committed, and everything in memory
can be rebuilt from the rows. A request, an order or a package that arrives twice has an effect once.
"""

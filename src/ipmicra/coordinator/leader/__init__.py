"""Waiting sites and probe results -> which crawler gets which subnet: the leader runs the delegation
strategy.

Invariant: decisions are made in `ipmicra.delegation`. Here probes become orders, answers are read from
rows, and decisions become rows. One leader at a time does this, and writes only while it holds the leader
lease.
"""

"""Sites that wait, hosts that answer -> which crawler takes which subnet: strategies driven live.

Law: decisions are `ipmicra.delegation`'s. Here probes become orders, answers come from rows, and
decisions become rows; one leader at a time does it, and writes only while it holds the office.
"""

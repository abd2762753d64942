"""Hosts, crawlers and packages -> the service: state, orders, delegation, API.

Law: the SQL row is the truth. Whatever is acknowledged is committed; whatever is in memory can be made
again from the rows. Everything that happens twice (a request, an order, a package) happens once in
effect.
"""

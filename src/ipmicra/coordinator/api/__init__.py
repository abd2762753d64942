"""Requests of hosts and people -> responses: the coordinator as an HTTP service.

Invariant: a handler decides nothing about delegation; it reads and writes rows. No secret is logged: no
token, no key, no signature, no database password.
"""

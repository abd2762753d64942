"""Requests of hosts and of people -> answers: the coordinator as a process that serves HTTP.

Law: a handler decides nothing about delegation; it reads and writes rows. Nothing secret is logged: no
token, no key, no signature, no database password.
"""

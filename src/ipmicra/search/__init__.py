"""Packages -> an index, and questions -> answers.

`contract` says what an index is; `factory` opens one. What was integrated is kept in a ledger beside
the index, so that a package or a visit that arrives twice changes nothing.
"""

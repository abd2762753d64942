"""Packages -> an index, and questions -> answers.

`contract` defines an index; `factory` opens one. A catalogue beside the index stores what was integrated,
so that a package or a visit that arrives twice changes nothing.
"""

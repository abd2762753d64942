"""Allocations -> the tree of subnets.

Law: pure. Arrays come in, answers go out; no file, no clock, no dice. Files are `registry`'s.
"""

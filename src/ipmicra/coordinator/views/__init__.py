"""Rows -> what people and programs read: status, statistics, alerts, explanations.

Invariant: a view writes nothing.
"""

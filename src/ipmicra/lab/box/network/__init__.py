"""Packets coming in, and the time -> packets going out, and when. What the router decides, without its wires.

Invariant: pure. Time and dice come in; packets are bytes; a wire is a number.
"""

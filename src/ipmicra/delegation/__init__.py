"""Tree, round trips and loads -> which crawler takes which subnet, and when it moves.

Invariant: pure. A strategy yields the probes it wants, is sent the answers, and returns its decision; it
never sends a probe itself. The live coordinator and the simulator run the same code.
"""

"""Titles and bodies -> HTML documents with one design: the layout, the stylesheet, the scripts, the policy.

Invariant: nothing is loaded from another origin, and a page contains no inline script or style, so the
policy can forbid both. Text becomes HTML only through htpy, which escapes it.
"""

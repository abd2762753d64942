"""Titles and bodies -> HTML documents of one look: the layout, the stylesheet, the scripts, the policy.

Law: nothing is loaded from another origin, and no script or style stands inside a page, so the policy can
forbid both. Text becomes HTML through htpy alone, which escapes it.
"""

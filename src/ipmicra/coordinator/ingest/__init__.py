"""Packages that were received -> pages in the index; and the index itself, made anew where it was lost."""

"""Candidates and the signals that rank them -> answers with snippets."""
